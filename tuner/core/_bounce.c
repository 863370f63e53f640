/* Exact Hamiltonian trajectories of a truncated normal: the inner loop of truncated.py.
 *
 * u ~ N(0, Gamma) restricted to lower <= u <= upper. A trajectory follows u cos t + w sin t for a time T <= pi/2 and
 * bounces off the walls: at wall j, w -= 2 w_j / Gamma_jj Gamma[j, :]. Rows 0..zeros-1 have the interval [0, inf):
 * their next wall needs one division; the other rows need a square root. Angles are kept as (cosine, sine) pairs, so
 * that no trigonometric function is called. A trajectory and its reverse bounce equally often, so refusing one that
 * bounces too often and staying where it began keeps the distribution exact.
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

typedef struct {
    Py_ssize_t m, zeros;
    const double *gamma, *lower, *upper;
    double *u, *w, *cot;
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
    return largest;
}

/* One trajectory of the remaining angle (cr, sr); returns the bounces, or -1 if there were more than the limit. */
static long trajectory(Chain *chain, double cr, double sr, long limit)
{
    const Py_ssize_t m = chain->m;
    long bounces = 0;
    double largest = advance(chain, 1.0, 0.0, 0.0, chain->gamma);
    for (;;) {
        /* the wall at cotangent y comes before the end if its sine over cosine is less than sr / cr */
        if (largest <= 0.0 || cr >= sr * largest) {
            advance(chain, cr, sr, 0.0, chain->gamma);
            return bounces;
        }
        if (bounces == limit) return -1;
        Py_ssize_t j = 0;
        while (j < m - 1 && chain->cot[j] != largest) j++;
        const double far = largest > 1e8 ? largest : sqrt(1.0 + largest * largest);
        const double s = 1.0 / far, c = largest > 1e8 ? 1.0 : largest / far;
        const double *g = chain->gamma + j * m;
        const double speed = chain->w[j] * c - chain->u[j] * s;
        largest = advance(chain, c, s, -2.0 * speed / g[j], g);
        if (j >= chain->zeros) chain->u[j] = speed < 0.0 ? chain->lower[j] : chain->upper[j];
        const double c_rest = cr * c + sr * s;
        sr = sr * c - cr * s;
        cr = c_rest;
        if (sr < 0.0) sr = 0.0;
        bounces++;
    }
}

/* run(state, rows, gamma, lower, upper, zeros, cosine, sine, limit) -> (bounces, refused)
 * rows[k] holds a velocity on entry and the position at the end of trajectory k on return; state is carried along. */
static PyObject *run(PyObject *self, PyObject *args)
{
    Py_buffer state, rows, gamma, lower, upper;
    Py_ssize_t zeros;
    double cosine, sine;
    long limit, bounces = 0, refused = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "w*w*y*y*y*nddl", &state, &rows, &gamma, &lower, &upper, &zeros, &cosine, &sine, &limit))
        return NULL;
    const Py_ssize_t m = state.len / (Py_ssize_t)sizeof(double);
    double *scratch = NULL;
    PyObject *result = NULL;
    if (m == 0 || gamma.len != m * state.len || lower.len != state.len || upper.len != state.len ||
        rows.len % state.len != 0 || zeros < 0 || zeros > m) {
        PyErr_SetString(PyExc_ValueError, "buffers of unlike sizes");
        goto done;
    }
    scratch = PyMem_Malloc(2 * (size_t)m * sizeof(double));
    if (scratch == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    Chain chain = {m, zeros, gamma.buf, lower.buf, upper.buf, state.buf, NULL, scratch};
    double *start = scratch + m;
    const Py_ssize_t count = rows.len / state.len;
    for (Py_ssize_t k = 0; k < count; k++) {
        chain.w = (double *)rows.buf + k * m;
        memcpy(start, chain.u, (size_t)m * sizeof(double));
        const long bounced = trajectory(&chain, cosine, sine, limit);
        if (bounced < 0) {
            memcpy(chain.u, start, (size_t)m * sizeof(double));
            refused++;
            bounces += limit;
        } else {
            bounces += bounced;
        }
        memcpy(chain.w, chain.u, (size_t)m * sizeof(double));
    }
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("ll", bounces, refused);
done:
    PyMem_Free(scratch);
    PyBuffer_Release(&state);
    PyBuffer_Release(&rows);
    PyBuffer_Release(&gamma);
    PyBuffer_Release(&lower);
    PyBuffer_Release(&upper);
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
