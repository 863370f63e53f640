/* Exact Hamiltonian trajectories of a truncated normal: the inner loop of truncated.py.
 *
 * u ~ N(0, Gamma) restricted to lower <= u <= upper. A trajectory follows u cos t + w sin t for a time T <= pi/2 and
 * bounces off the walls: at wall j, w -= 2 w_j / Gamma_jj Gamma[j, :]. Rows 0..zeros-1 have the interval [0, inf):
 * their next wall needs one division; the other rows need a square root. Angles are kept as (cosine, sine) pairs, so
 * that no trigonometric function is called. A trajectory and its reverse bounce equally often, so refusing one that
 * bounces too often and staying where it began keeps the distribution exact.
 *
 * Gamma may be another covariance than the target's (rounded.py): the vector then goes on with `extra` unbounded entries
 * y, of unit variance under Gamma and of precision 1 - force under the target. The trajectory is cut into parts, the
 * velocity of y is kicked between them, and the end is accepted by Metropolis' rule.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <string.h>

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define FAST __attribute__((target_clones("avx2", "default")))
#else
#define FAST
#endif

/* Bounds this far out stand for infinity: the compiler is told that every number is finite. */
#define FAR 1e150
/* A row on its wall is held this far inside: it stays positive, and cotangents stay finite. */
#define AT_WALL 1e-290
#define AT_ONCE 1e300
#define BLOCK 8

typedef struct {
    Py_ssize_t m, extra, zeros;
    const double *gamma, *lower, *upper, *force;
    double *u, *w, *cot, *push;
} Chain;

/* The cotangent of the angle at which a row of a general interval meets a wall; <= 0 if not within pi/2. */
static double general_cotangent(double u, double w, double lower, double upper)
{
    const double r2 = u * u + w * w;
    double best = 0.0;
    if (lower > -FAR) {
        const double q2 = r2 - lower * lower;
        if (u <= lower) {
            if (w < 0.0) return AT_ONCE;
        }
        if (q2 > 0.0) {
            const double q = sqrt(q2), s = w * lower + u * q, c = u * lower - w * q;
            if (s > 0.0 && c > best * s) best = c / s;
        }
    }
    if (upper < FAR) {
        const double q2 = r2 - upper * upper;
        if (u >= upper) {
            if (w > 0.0) return AT_ONCE;
        }
        if (q2 > 0.0) {
            const double q = sqrt(q2), s = w * upper - u * q, c = u * upper + w * q;
            if (s > 0.0 && c > best * s) best = c / s;
        }
    }
    return best;
}

/* Rotate by (c, s), add `kick` times row g of Gamma to the velocity, and return the largest next cotangent. */
FAST static double advance(const Chain *chain, double c, double s, double kick, const double *g)
{
    double *restrict u = chain->u, *restrict w = chain->w, *restrict cot = chain->cot;
    const Py_ssize_t zeros = chain->zeros;
    double largest = 0.0;
    for (Py_ssize_t i = 0; i < zeros; i++) {
        double moved = u[i] * c + w[i] * s;
        const double turned = w[i] * c - u[i] * s + kick * g[i];
        moved = moved > AT_WALL ? moved : AT_WALL;
        u[i] = moved;
        w[i] = turned;
        const double y = -turned / moved;
        cot[i] = y;
        largest = y > largest ? y : largest;
    }
    for (Py_ssize_t i = zeros; i < chain->m; i++) {
        const double moved = u[i] * c + w[i] * s;
        w[i] = w[i] * c - u[i] * s + kick * g[i];
        u[i] = moved;
        cot[i] = general_cotangent(moved, w[i], chain->lower[i], chain->upper[i]);
        largest = cot[i] > largest ? cot[i] : largest;
    }
    for (Py_ssize_t i = chain->m; i < chain->m + chain->extra; i++) {
        const double moved = u[i] * c + w[i] * s;
        w[i] = w[i] * c - u[i] * s + kick * g[i];
        u[i] = moved;
    }
    return largest;
}

/* Rotate by (c, s), then kick the velocity of y by `share` of its force, and that of the rows with it. Return the
 * largest next cotangent; `energy` grows by what the kinetic energy gains. Rows m.. of Gamma hold the covariances of y. */
FAST static double turn(const Chain *chain, double c, double s, double share, double *energy)
{
    const Py_ssize_t m = chain->m, extra = chain->extra, all = m + extra;
    double *restrict push = chain->push;
    double by = 0.0;
    for (Py_ssize_t k = 0; k < extra; k++) {
        const double y = chain->u[m + k], v = chain->w[m + k];
        const double *restrict g = chain->gamma + (m + k) * all;
        by = share * chain->force[k] * (y * c + v * s);
        *energy += by * (v * c - y * s + 0.5 * by);
        if (extra == 1) break;
        for (Py_ssize_t i = 0; i < all; i++) push[i] = k ? push[i] + by * g[i] : by * g[i];
    }
    return extra > 1 ? advance(chain, c, s, 1.0, push) : advance(chain, c, s, by, chain->gamma + (extra ? m * all : 0));
}

/* By how much the target's potential differs from that of Gamma. */
static double correction(const Chain *chain)
{
    double total = 0.0;
    for (Py_ssize_t k = 0; k < chain->extra; k++) {
        const double y = chain->u[chain->m + k];
        total -= 0.5 * chain->force[k] * y * y;
    }
    return total;
}

/* The first place of a value that is there, eight at a time: the compiler makes one comparison of them. */
FAST static Py_ssize_t place(const double *cot, double value)
{
    Py_ssize_t begin = 0;
    for (;; begin += BLOCK) {
        int found = 0;
        for (Py_ssize_t i = 0; i < BLOCK; i++) found |= cot[begin + i] == value;
        if (found) break;
    }
    while (cot[begin] != value) begin++;
    return begin;
}

/* One trajectory in equal parts of angle (cosine, sine); returns the bounces, or -1 if there were more than the limit.
 * A kick by the tangent of half the angle before and after a part makes it a straight line where the force is one. */
static long trajectory(Chain *chain, long parts, double cosine, double sine, long limit, double *energy)
{
    const Py_ssize_t all = chain->m + chain->extra;
    const double half = sine / (1.0 + cosine);
    long bounces = 0;
    *energy = -correction(chain);
    double largest = turn(chain, 1.0, 0.0, half, energy);
    for (long p = 1; p <= parts; p++) {
        double cr = cosine, sr = sine;
        /* the wall at cotangent y comes before the end if its sine over cosine is less than sr / cr */
        while (largest > 0.0 && cr < sr * largest) {
            if (bounces == limit) return -1;
            const Py_ssize_t j = place(chain->cot, largest);
            const double far = largest > 1e8 ? largest : sqrt(1.0 + largest * largest);
            const double s = 1.0 / far, c = largest > 1e8 ? 1.0 : largest / far;
            const double *g = chain->gamma + j * all;
            const double speed = chain->w[j] * c - chain->u[j] * s;
            largest = advance(chain, c, s, -2.0 * speed / g[j], g);
            if (j >= chain->zeros) chain->u[j] = speed < 0.0 ? chain->lower[j] : chain->upper[j];
            const double c_rest = cr * c + sr * s;
            sr = sr * c - cr * s;
            cr = c_rest;
            if (sr < 0.0) sr = 0.0;
            bounces++;
        }
        largest = turn(chain, cr, sr, p < parts ? 2.0 * half : half, energy);
    }
    *energy += correction(chain);
    return bounces;
}

/* run(state, rows, gamma, lower, upper, zeros, parts, cosine, sine, limit, force, heights) -> (bounces, refused, rejected)
 * rows[k] holds a velocity on entry and the position at the end of trajectory k on return; state is carried along.
 * The energy of trajectory k may grow by heights[k], an exponential number. */
static PyObject *run(PyObject *self, PyObject *args)
{
    Py_buffer state, rows, gamma, lower, upper, force, heights;
    Py_ssize_t zeros;
    double cosine, sine;
    long parts, limit, bounces = 0, refused = 0, rejected = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "w*w*y*y*y*nlddly*y*", &state, &rows, &gamma, &lower, &upper, &zeros, &parts, &cosine,
                          &sine, &limit, &force, &heights))
        return NULL;
    const Py_ssize_t one = (Py_ssize_t)sizeof(double);
    const Py_ssize_t all = state.len / one, extra = force.len / one, m = all - extra;
    double *scratch = NULL;
    PyObject *result = NULL;
    if (m <= 0 || gamma.len != all * state.len || lower.len != m * one || upper.len != m * one ||
        rows.len % state.len != 0 || heights.len != rows.len / all || zeros < 0 || zeros > m || parts < 1) {
        PyErr_SetString(PyExc_ValueError, "buffers of unlike sizes");
        goto done;
    }
    scratch = PyMem_Calloc(3 * (size_t)all + BLOCK, sizeof(double));
    if (scratch == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    Chain chain = {m, extra, zeros, gamma.buf, lower.buf, upper.buf, force.buf,
                   state.buf, NULL, scratch + 2 * all, scratch};
    double *start = scratch + all, energy;
    const double *height = heights.buf;
    const Py_ssize_t count = rows.len / state.len;
    for (Py_ssize_t k = 0; k < count; k++) {
        chain.w = (double *)rows.buf + k * all;
        memcpy(start, chain.u, (size_t)all * sizeof(double));
        const long bounced = trajectory(&chain, parts, cosine, sine, limit, &energy);
        bounces += bounced < 0 ? limit : bounced;
        if (bounced < 0 || energy > height[k]) {
            memcpy(chain.u, start, (size_t)all * sizeof(double));
            refused += bounced < 0;
            rejected += bounced >= 0;
        }
        memcpy(chain.w, chain.u, (size_t)all * sizeof(double));
    }
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("lll", bounces, refused, rejected);
done:
    PyMem_Free(scratch);
    PyBuffer_Release(&state);
    PyBuffer_Release(&rows);
    PyBuffer_Release(&gamma);
    PyBuffer_Release(&lower);
    PyBuffer_Release(&upper);
    PyBuffer_Release(&force);
    PyBuffer_Release(&heights);
    return result;
}

static PyMethodDef methods[] = {
    {"run", run, METH_VARARGS, "Follow one trajectory per row; see truncated.py."},
    {NULL, NULL, 0, NULL},
};
static PyModuleDef_Slot slots[] = {{0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_bounce", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__bounce(void)
{
    return PyModuleDef_Init(&definition);
}
