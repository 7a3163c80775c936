// Replaces the parts of the page that have changed, and loads the report when the race has ended.
"use strict";
const page = document.getElementById("live");
const lost = document.getElementById("lost");
let events = null;

function follow() {
  events = new EventSource(page.dataset.events);
  events.addEventListener("open", () => { lost.hidden = true; });
  events.addEventListener("error", () => { lost.hidden = false; });
  events.addEventListener("parts", (event) => {
    for (const [id, part] of Object.entries(JSON.parse(event.data))) {
      document.getElementById(id).innerHTML = part;
    }
  });
  events.addEventListener("end", () => {
    events.close();
    location.reload();
  });
}

// A browser has six connections to a server, which hidden tabs would use up.
function followIfVisible() {
  if (events !== null) events.close();
  events = null;
  if (!document.hidden) follow();
}

document.addEventListener("visibilitychange", followIfVisible);
followIfVisible();
