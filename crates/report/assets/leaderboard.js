"use strict";
(function () {
  var tables = Array.from(document.querySelectorAll("table.board"));
  tables.forEach(function (table) {
    var heads = Array.from(table.tHead.rows[0].cells);
    var body = table.tBodies[0];
    heads.forEach(function (head, column) {
      var button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.textContent = "";
      head.appendChild(button);
      button.addEventListener("click", function () {
        var way = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
        heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", way);
        var isNumber = Array.from(body.rows).some(function (row) {
          return row.cells[column].hasAttribute("data-value");
        });
        var key = function (row) {
          var cell = row.cells[column];
          if (!isNumber) { return cell.textContent; }
          return cell.hasAttribute("data-value") ? Number(cell.getAttribute("data-value")) : null;
        };
        var sign = way === "ascending" ? 1 : -1;
        Array.from(body.rows)
          .map(function (row) { return { row: row, key: key(row) }; })
          .sort(function (left, right) {
            // What is not known stays last, whichever way.
            if (left.key === null || right.key === null) {
              return (left.key === null) - (right.key === null);
            }
            if (isNumber) { return sign * (left.key - right.key); }
            return sign * left.key.localeCompare(right.key);
          })
          .forEach(function (one) { body.appendChild(one.row); });
      });
    });
  });
  var place = document.getElementById("filter");
  if (!place || tables.length === 0) { return; }
  var box = document.createElement("div");
  box.className = "filter";
  var label = document.createElement("label");
  label.htmlFor = "wanted";
  label.textContent = "Show runs with";
  var input = document.createElement("input");
  input.id = "wanted";
  input.type = "search";
  input.placeholder = "model, hardware, load …";
  var count = document.createElement("span");
  count.className = "soft";
  count.setAttribute("role", "status");
  box.append(label, input, count);
  place.appendChild(box);
  input.addEventListener("input", function () {
    var words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    var shown = 0;
    var all = 0;
    tables.forEach(function (table) {
      Array.from(table.tBodies[0].rows).forEach(function (row) {
        var text = row.textContent.toLowerCase();
        row.hidden = !words.every(function (word) { return text.includes(word); });
        all += 1;
        shown += row.hidden ? 0 : 1;
      });
    });
    count.textContent = words.length ? shown + " of " + all + " runs" : "";
  });
})();
