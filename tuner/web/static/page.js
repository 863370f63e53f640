"use strict";
// The page without reloads: forms are sent beside, and the part that has changed takes the place of the old one.
// Everything works without this script too, with a reload for each answer.
(() => {
  const GUARD_MS = 500; // an answer so soon after a new question was meant for the one before
  let asked = "";
  let askedAt = 0;
  let sending = false;
  let underway = "";  // which button was pressed, until there is an answer
  let again = false;

  const key = () => {
    const seen = document.querySelector(".answers input[name=seen]");
    const [duel, part] = (seen ? seen.value : "").split(".");
    return duel === "0" ? part : duel; // a question stays the same while the machine makes other parts
  };

  function noteQuestion() {
    const thumbs = document.querySelector(".thumbs");
    if (key() !== asked) {
      asked = key();
      askedAt = performance.now();
    }
    const left = GUARD_MS - (performance.now() - askedAt);
    if (thumbs && left > 0) {
      thumbs.classList.add("fresh");
      setTimeout(() => thumbs.classList.remove("fresh"), left);
    }
  }

  function put(text, address) {
    const next = new DOMParser().parseFromString(text, "text/html");
    const page = next.getElementById("page");
    if (!page) { location.reload(); return; }
    const had = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.key : null;
    const filter = document.querySelector("[data-filter]:checked");
    const search = document.querySelector("[data-search]");
    const kept = [filter && filter.value, search && search.value];
    const scrolled = window.scrollY;
    const asks = document.querySelector(".asked");
    const typed = asks && asks.querySelector("input[name=given]");
    const old = document.getElementById("page");
    const before = { question: key(), view: zoom };
    const opened = [...document.querySelectorAll("details[open][id]")].map((one) => one.id);
    old.replaceWith(document.adoptNode(page));
    document.title = next.title;
    document.body.className = next.body.className;
    document.body.dataset.lost = next.body.dataset.lost;
    for (const id of opened) { const one = document.getElementById(id); if (one) one.open = true; }
    document.documentElement.lang = next.documentElement.lang;
    if (address && location.pathname !== address) history.pushState(null, "", address);
    const now = document.querySelector(".asked");
    const field = now && now.querySelector("[data-first]");
    if (field && typed && typed.value) field.value = typed.value;
    if (field) field.focus();
    else if (now && !asks) now.focus();
    else if (had) {
      const same = document.querySelector(`[data-key="${CSS.escape(had)}"]`);
      if (same) same.focus({ preventScroll: true });
    }
    if (kept[0]) { const one = document.querySelector(`[data-filter][value="${kept[0]}"]`); if (one) one.checked = true; }
    if (kept[1]) { const one = document.querySelector("[data-search]"); if (one) one.value = kept[1]; }
    applyFilter();
    window.scrollTo(0, scrolled);
    zoom = key() === before.question ? before.view : { scale: 1, x: 0, y: 0 };
    if (large && key() !== before.question) large = "left";
    showZoom();
    noteQuestion();
    follow();
  }

  // a name or PIN that was typed is not lost, also not to an answer that was asked for before
  const signing = () => [...document.querySelectorAll("form.sign input:not([type=hidden])")]
    .some((one) => one.value || one === document.activeElement);

  async function look() {
    if (sending) { again = true; return; }
    if (signing()) return;
    sending = true;
    try {
      const answer = await fetch(location.pathname, { credentials: "same-origin" });
      const text = await answer.text();
      if (answer.ok && !signing()) put(text);
    } catch { /* the stream tells when the page is back */ }
    sending = false;
    if (again) { again = false; look(); }
  }

  async function send(form, button) {
    const pressed = `${form.action} ${button ? button.value : ""}`;
    if (underway === pressed) return;  // twice is once: the second press would meet a question that is closed
    if (sending) { setTimeout(() => send(form, button), 50); return; }
    if (form.closest(".fresh .answers")) return;
    const fields = new URLSearchParams(new FormData(form));
    if (button && button.name) fields.set(button.name, button.value);
    sending = true;
    underway = pressed;
    document.body.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(form.action, { method: "POST", body: fields, credentials: "same-origin" });
      if (answer.ok) {
        put(await answer.text(), new URL(answer.url).pathname);
        if (form.closest(".answers")) window.scrollTo(0, 0);
      } else say(await answer.text());
    } catch {
      say(document.body.dataset.lost);
    }
    document.body.removeAttribute("aria-busy");
    sending = false;
    underway = "";
    if (again) { again = false; look(); }
  }

  function say(text) {
    const said = document.getElementById("said");
    if (said) { said.textContent = text; said.classList.add("bad"); }
  }

  document.addEventListener("submit", (event) => {
    event.preventDefault();
    send(event.target, event.submitter);
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-sends]")) send(event.target.form);
    if (event.target.matches("[data-filter]")) applyFilter();
  });
  document.addEventListener("input", (event) => { if (event.target.matches("[data-search]")) applyFilter(); });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "radio";
    if (typing && event.key !== "Escape") return;
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const found = document.querySelector(`.asked [data-key="${CSS.escape(name)}"]`)
      || (document.querySelector(".asked") ? null : document.querySelector(`[data-key="${CSS.escape(name)}"]`));
    if (found) { event.preventDefault(); found.click(); }
  });

  // both pictures are zoomed and moved alike: what is compared is the same place of two parts
  const CLOSEST = 8;
  const SWIPE_PX = 45;
  let zoom = { scale: 1, x: 0, y: 0 };
  let large = ""; // which part's picture is shown alone and large: left or right
  const fingers = new Map();
  let began = null; // where the only finger came down

  const pictures = () => [...document.querySelectorAll("[data-zoom] img")];
  const side = (name) => document.querySelector(`.parts .part:${name === "left" ? "first" : "last"}-child`);

  function showZoom() {
    const parts = document.querySelector("[data-parts]");
    if (!parts) return;
    for (const name of ["left", "right"]) parts.classList.toggle(`only-${name}`, large === name && pictures().length > 1);
    for (const one of pictures()) {
      one.style.transform = `translate(${zoom.x}px, ${zoom.y}px) scale(${zoom.scale})`;
    }
    const button = document.querySelector("[data-look=side]");
    if (button) {
      button.hidden = pictures().length < 2;
      button.setAttribute("aria-pressed", String(Boolean(large)));
      button.firstChild.data = large ? button.dataset.large : button.dataset.small;
      document.querySelector("[data-look=turn]").hidden = !large || pictures().length < 2;
    }
  }
  // the place under the fingers stays where it is; no picture is moved out of its frame
  function zoomTo(scale, at = { x: 0, y: 0 }, by = { x: 0, y: 0 }) {
    scale = Math.min(CLOSEST, Math.max(1, scale));
    const frame = pictures().find((one) => one.offsetWidth);
    const room = (length) => (length * (scale - 1)) / 2;
    const within = (value, most) => Math.min(most, Math.max(-most, value));
    const grown = scale / zoom.scale;
    zoom = {
      scale,
      x: within(at.x - (at.x - zoom.x) * grown + by.x, frame ? room(frame.offsetWidth) : 0),
      y: within(at.y - (at.y - zoom.y) * grown + by.y, frame ? room(frame.offsetHeight) : 0),
    };
    showZoom();
  }
  const inFrame = (point, target) => {
    const box = target.closest("[data-zoom]").getBoundingClientRect();
    return { x: point.x - box.left - box.width / 2, y: point.y - box.top - box.height / 2 };
  };
  function showLarge(name) {
    large = name;
    zoomTo(zoom.scale);
    if (name && side(name)) side(name).scrollIntoView({ block: "nearest" });
  }
  document.addEventListener("wheel", (event) => {
    if (!event.target.closest("[data-zoom]")) return;
    event.preventDefault();
    zoomTo(zoom.scale * (event.deltaY < 0 ? 1.2 : 1 / 1.2), inFrame(event, event.target));
  }, { passive: false });
  document.addEventListener("dblclick", (event) => {
    if (event.target.closest("[data-zoom]")) zoomTo(zoom.scale > 1 ? 1 : 3, inFrame(event, event.target));
  });
  document.addEventListener("click", (event) => {
    const look = event.target.closest("[data-look]");
    if (!look) return;
    if (look.dataset.look === "side") showLarge(large ? "" : "left");
    else if (look.dataset.look === "turn") showLarge(large === "left" ? "right" : "left");
    else zoomTo(zoom.scale * (look.dataset.look === "in" ? 1.6 : 1 / 1.6));
  });
  document.addEventListener("pointerdown", (event) => {
    if (!event.target.closest("[data-zoom]")) return;
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    began = fingers.size === 1 ? { x: event.clientX, y: event.clientY } : null;
  });
  document.addEventListener("pointermove", (event) => {
    const last = fingers.get(event.pointerId);
    if (!last) return;
    const others = [...fingers.entries()].filter(([id]) => id !== event.pointerId).map(([, one]) => one);
    const here = { x: event.clientX, y: event.clientY };
    const by = { x: here.x - last.x, y: here.y - last.y };
    fingers.set(event.pointerId, here);
    if (others.length === 1) {
      const apart = (one) => Math.hypot(one.x - others[0].x, one.y - others[0].y);
      const middle = { x: (here.x + others[0].x) / 2, y: (here.y + others[0].y) / 2 };
      if (apart(last) > 0) {
        zoomTo(zoom.scale * apart(here) / apart(last), inFrame(middle, event.target), { x: by.x / 2, y: by.y / 2 });
      }
    } else if (others.length === 0 && zoom.scale > 1) zoomTo(zoom.scale, undefined, by);
    else if (others.length === 0 && event.pointerType === "touch") window.scrollBy(0, -by.y);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    document.addEventListener(end, (event) => {
      const last = fingers.get(event.pointerId);
      fingers.delete(event.pointerId);
      if (!last || !began || zoom.scale > 1 || end === "pointercancel") return;
      const by = { x: last.x - began.x, y: last.y - began.y };
      // a swipe turns from one picture to the other, at the same place of the screen: small differences jump
      if (Math.abs(by.x) > SWIPE_PX && Math.abs(by.x) > 2 * Math.abs(by.y)) showLarge(by.x < 0 ? "right" : "left");
    });
  }

  function applyFilter() {
    const kind = document.querySelector("[data-filter]:checked");
    const search = document.querySelector("[data-search]");
    const words = search ? search.value.toLowerCase() : "";
    for (const row of document.querySelectorAll("tr[data-kind]")) {
      const fits = (!kind || kind.value === "all" || row.dataset.kind === kind.value)
        && row.textContent.toLowerCase().includes(words);
      row.hidden = !fits;
    }
  }

  // A stream that was refused (nobody was signed in, the daemon was away) is never opened again by the browser.
  let stream = null;
  const following = () => stream !== null && stream.readyState !== EventSource.CLOSED;
  function follow() {
    if (following() || !document.querySelector("nav")) return;
    stream = new EventSource("/events");
    stream.onmessage = look;
  }

  window.addEventListener("popstate", look);
  document.documentElement.classList.add("script");
  noteQuestion();
  showZoom();
  follow();
  setInterval(() => {
    if (!document.hidden && (!following() || document.querySelector(".pace"))) look();
  }, 5000);
})();
