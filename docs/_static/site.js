// What is cut off and scrolls is reached by the tab key, and nothing else becomes a stop.
function markScrollers() {
  for (const one of document.querySelectorAll("pre, .table-wrapper, .diagram")) {
    if (one.scrollWidth > one.clientWidth) one.tabIndex = 0;
    else one.removeAttribute("tabindex");
  }
}
addEventListener("load", markScrollers);
addEventListener("resize", markScrollers);

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
const versions = document.getElementById("versions");
if (versions) showVersions(versions);
