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
