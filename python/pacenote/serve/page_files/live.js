// Replaces the parts of the page that have changed, and loads the report when the race has ended.
"use strict";
const page = document.getElementById("live");
const lost = document.getElementById("lost");
let events = null;

function follow() {
  events = new EventSource(page.dataset.events);
  events.addEventListener("error", () => { lost.hidden = false; });
  events.addEventListener("message", (event) => {
    const update = JSON.parse(event.data);
    // When the server has ended, another user's may answer at its address, which does not know the key.
    if (update.key !== page.dataset.key) {
      events.close();
      lost.hidden = false;
      return;
    }
    lost.hidden = true;
    for (const [id, part] of Object.entries(update.parts)) {
      document.getElementById(id).innerHTML = part;
    }
    if (update.ended) {
      events.close();
      location.reload();
    }
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
