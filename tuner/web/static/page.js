"use strict";
// The page without reloads: forms are sent beside, and the part that has changed takes the place of the old one.
// Everything works without this script too, with a reload for each answer.
(() => {
  const GUARD_MS = 500; // an answer so soon after a new question was meant for the one before
  let asked = "";
  let askedAt = 0;
  let sending = false;
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
    old.replaceWith(document.adoptNode(page));
    document.title = next.title;
    document.body.className = next.body.className;
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
    showZoom();
    noteQuestion();
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
    if (sending) { setTimeout(() => send(form, button), 50); return; }
    if (form.closest(".fresh .answers")) return;
    const fields = new URLSearchParams(new FormData(form));
    if (button && button.name) fields.set(button.name, button.value);
    sending = true;
    document.body.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(form.action, { method: "POST", body: fields, credentials: "same-origin" });
      if (answer.ok) {
        put(await answer.text(), new URL(answer.url).pathname);
        if (form.closest(".answers")) window.scrollTo(0, 0);
      } else say(await answer.text());
    } catch {
      say(document.body.dataset.lost || "No answer. Look at the page again before you repeat it.");
    }
    document.body.removeAttribute("aria-busy");
    sending = false;
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
  let zoom = { scale: 1, x: 0, y: 0 };
  const fingers = new Map();
  function showZoom() {
    for (const one of document.querySelectorAll("[data-zoom] img")) {
      one.style.transform = `translate(${zoom.x}px, ${zoom.y}px) scale(${zoom.scale})`;
    }
  }
  function zoomTo(scale) {
    scale = Math.min(8, Math.max(1, scale));
    zoom = scale === 1 ? { scale: 1, x: 0, y: 0 } : { scale, x: zoom.x * scale / zoom.scale, y: zoom.y * scale / zoom.scale };
    showZoom();
  }
  document.addEventListener("wheel", (event) => {
    if (!event.target.closest("[data-zoom]")) return;
    event.preventDefault();
    zoomTo(zoom.scale * (event.deltaY < 0 ? 1.2 : 1 / 1.2));
  }, { passive: false });
  document.addEventListener("dblclick", (event) => {
    if (event.target.closest("[data-zoom]")) zoomTo(zoom.scale > 1 ? 1 : 3);
  });
  document.addEventListener("pointerdown", (event) => {
    if (event.target.closest("[data-zoom]")) fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  });
  document.addEventListener("pointermove", (event) => {
    const last = fingers.get(event.pointerId);
    if (!last) return;
    const others = [...fingers.entries()].filter(([id]) => id !== event.pointerId).map(([, one]) => one);
    const here = { x: event.clientX, y: event.clientY };
    if (others.length === 1) {
      const apart = (one) => Math.hypot(one.x - others[0].x, one.y - others[0].y);
      if (apart(last) > 0) zoomTo(zoom.scale * apart(here) / apart(last));
    } else if (others.length === 0 && zoom.scale > 1) {
      zoom = { ...zoom, x: zoom.x + here.x - last.x, y: zoom.y + here.y - last.y };
      showZoom();
    }
    fingers.set(event.pointerId, here);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    document.addEventListener(end, (event) => fingers.delete(event.pointerId));
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

  window.addEventListener("popstate", look);
  document.documentElement.classList.add("script");
  noteQuestion();
  if (document.querySelector("nav")) {
    const stream = new EventSource("/events");
    stream.onmessage = look;
    setInterval(() => { if (!document.hidden && document.querySelector(".pace")) look(); }, 5000);
  }
})();
