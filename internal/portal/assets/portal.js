// What the pages can do better with a script. Without it they work as well.

// An address's fragment never reaches a server: the token of a link or the prefill of a pairing. It goes into the fields
// that ask for it, and out of the address bar.
function readFragment() {
  const fragment = location.hash.slice(1);
  const fields = document.querySelectorAll("[data-prefill]");
  if (!fragment || fields.length === 0) return;
  const values = new URLSearchParams(fragment);
  let token = null;
  for (const field of fields) {
    const key = field.dataset.prefill;
    if (key === "#") {
      if (/^cwl_[0-9A-Za-z]+$/.test(fragment)) {
        field.value = fragment;
        token = field;
      }
    } else if (!field.value && values.has(key)) {
      field.value = values.get(key).slice(0, field.maxLength > 0 ? field.maxLength : 254);
    }
  }
  history.replaceState(null, "", location.pathname + location.search);
  if (token) token.form.requestSubmit();
}
readFragment();
addEventListener("hashchange", readFragment); // somebody pasted the link into a tab that shows the page already

// Times in the reader's own zone.
const zone = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });
for (const time of document.querySelectorAll("time[data-local]")) {
  time.title = time.textContent;
  time.textContent = zone.format(new Date(time.dateTime));
}

// Copying.
for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    const label = button.firstChild;
    const before = label.data;
    label.data = "Copied";
    setTimeout(() => { label.data = before; }, 2000);
  });
}

// Choosing is enough where a form has nothing but a choice.
for (const select of document.querySelectorAll("[data-submit]")) {
  const button = select.form.querySelector("[data-submit-button]");
  button.hidden = true;
  select.addEventListener("change", () => { button.hidden = false; });
}

// The confirmation of another row closes the one before.
for (const details of document.querySelectorAll("details.confirm")) {
  details.addEventListener("toggle", () => {
    if (!details.open) return;
    for (const other of document.querySelectorAll("details.confirm[open]")) {
      if (other !== details) other.open = false;
    }
  });
}

// A call that goes on is read again, unless somebody listens or selects text.
if (document.querySelector("[data-live]")) {
  setInterval(() => { if (!document.hidden && !String(getSelection())) location.reload(); }, 3000);
}

// The player: one button, the picture as the place, and each line of the transcript as a way to it.
for (const player of document.querySelectorAll("[data-player]")) {
  const audio = player.querySelector("audio");
  const seek = player.querySelector("[data-seek]");
  if (!seek) continue;
  const play = player.querySelector("[data-play]");
  const played = player.querySelector("[data-played]");
  const now = player.querySelector("[data-now]");
  const label = player.querySelector("[data-clock]");
  const turns = [...document.querySelectorAll(".turn")];
  const text = (s) => Math.floor(s / 60) + ":" + String(Math.floor(s % 60)).padStart(2, "0");
  const end = () => audio.duration || Number(seek.max);
  const show = () => {
    const at = audio.currentTime;
    const x = String((900 * at) / Math.max(end(), 0.1));
    played.setAttribute("width", x);
    now.setAttribute("x", x);
    seek.value = at;
    seek.setAttribute("aria-valuetext", text(at) + " of " + text(end()));
    label.textContent = text(at) + " / " + text(end());
    const current = turns.findLast((t) => t.dataset.at <= at * 1000 + 50);
    for (const t of turns) t.toggleAttribute("data-current", t === current && (at > 0 || !audio.paused));
    play.setAttribute("aria-label", audio.paused ? "Play" : "Pause");
    play.toggleAttribute("data-playing", !audio.paused);
  };
  const go = (seconds) => { audio.currentTime = seconds; show(); };
  audio.controls = false;
  play.hidden = seek.hidden = false;
  now.setAttribute("visibility", "visible");
  play.addEventListener("click", () => (audio.paused ? audio.play() : audio.pause()));
  seek.addEventListener("input", () => go(Number(seek.value)));
  for (const event of ["timeupdate", "play", "pause", "loadedmetadata", "seeked"]) audio.addEventListener(event, show);
  for (const turn of turns) {
    turn.querySelector("a.turn-time")?.addEventListener("click", (e) => {
      e.preventDefault();
      go(turn.dataset.at / 1000);
      audio.play().catch(() => {});
    });
  }
  show();
}
