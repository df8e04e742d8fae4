// If a phone cuts off a table, the page's tables show each row as a list, of three cells or more with heads.
function stackTables() {
  const tables = [...document.querySelectorAll(".table-wrapper > table")].filter((table) => table.tHead);
  for (const table of tables) table.classList.remove("stacked");
  const isCut = ({ parentElement: wrapper }) => wrapper.scrollWidth > wrapper.clientWidth;
  if (innerWidth > 736 || !tables.some(isCut)) return;
  for (const table of tables) {
    const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
    for (const row of table.tBodies[0].rows) {
      for (const [column, cell] of [...row.cells].entries()) {
        if (column && heads.length > 2 && cell.textContent.trim()) cell.dataset.head = heads[column];
      }
    }
    table.classList.add("stacked");
  }
}

// Of the list of all pages, only the group of this page is open; on the first page, that of the first steps.
const captions = [...document.querySelectorAll(".sidebar-tree .caption")];
const isHere = (caption) => caption.nextElementSibling.querySelector(".current-page") !== null;
const open = captions.find(isHere) ?? captions[0];
for (const caption of captions) {
  const group = document.createElement("details");
  const summary = document.createElement("summary");
  const list = caption.nextElementSibling;
  group.open = caption === open;
  caption.replaceWith(group);
  summary.append(caption);
  group.append(summary, list);
}

// A click shows a picture in its own size.
for (const picture of document.querySelectorAll("article :not(a) > img")) {
  const link = document.createElement("a");
  link.href = picture.src;
  picture.replaceWith(link);
  link.append(picture);
}

// What is cut off and scrolls is reached by the tab key, and nothing else becomes a stop.
function markScrollers() {
  for (const one of document.querySelectorAll("pre, .table-wrapper, .diagram")) {
    if (one.scrollWidth > one.clientWidth) one.tabIndex = 0;
    else one.removeAttribute("tabindex");
  }
}
for (const event of ["load", "resize"]) {
  addEventListener(event, stackTables);
  addEventListener(event, markScrollers);
}

// Each version of the site is a folder, and versions.json beside the folders names them: ["0.2", "0.1"].
async function showVersions(place) {
  const folders = new URL(`${document.documentElement.dataset.content_root}../`, location);
  const list = await fetch(new URL("versions.json", folders));
  for (const version of list.ok ? await list.json() : []) {
    const link = document.createElement("a");
    link.href = new URL(`${version}/`, folders);
    link.textContent = version;
    place.append(link, " ");
  }
}
const versions = document.getElementById("site-versions");
if (versions) showVersions(versions);
