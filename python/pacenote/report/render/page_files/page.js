// Makes tables sortable, and opens the table that a link leads to.
(() => {
  "use strict";
  document.documentElement.classList.add("js");

  // Links to a table open it.
  function open() {
    const folded = document.getElementById(location.hash.slice(1))?.closest("details");
    if (folded) {
      folded.open = true;
      folded.scrollIntoView();
    }
  }
  addEventListener("hashchange", open);
  open();

  // Tables.
  const value = (cell) => (cell.dataset.sort ? Number(cell.dataset.sort) : cell.textContent.trim());
  function compare(one, other) {
    if (one === "" || other === "") return (one === "") - (other === "");
    const numbers = typeof one === "number" && typeof other === "number";
    return numbers ? one - other : String(one).localeCompare(String(other), "en", { numeric: true });
  }
  function sort(table, column, descending) {
    for (const body of table.tBodies) {
      const rows = [...body.rows].map((row) => [value(row.cells[column]), row]);
      rows.sort(([one], [other]) =>
        one === "" || other === "" ? compare(one, other) : (descending ? -1 : 1) * compare(one, other));
      body.append(...rows.map(([, row]) => row));
    }
  }
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const isNumber = !head.classList.contains("t");
        const state = head.getAttribute("aria-sort");
        const descending = state ? state === "ascending" : isNumber;
        for (const each of heads) each.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        sort(table, column, descending);
      });
    });
  }
})();
