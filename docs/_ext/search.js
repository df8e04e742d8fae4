// How the site's search ranks. Sphinx writes this behind its searchtools.js, whose parts it replaces.
//
// Sphinx shows the pages that have every word, and ranks a page by its best word. Here a page needs half
// of the words, so that a question finds its answer, and all words make the rank, rare ones most: by
// whether they stand in the page's title, in a heading (or its first paragraph), or in its text, and
// whether one passage has them all.

const IN_TITLE = 24;
const BEGINS_IN_TITLE = 18;
const IN_HEADING = 12;
const IN_TEXT = 2;
const TOGETHER = 12;
const OFTEN = 0.8;

// Who searches wants to do something first, and last to know how the code is documented.
const PLACES = [
  ["docs/how-to/", 5],
  ["docs/tutorial/", 5],
  ["docs/reference/glossary", 0],
  ["docs/reference/python/", -10],
  ["docs/reference/", 4],
  ["docs/explanation/", 2],
  ["", -10],
];

// Words of questions that say nothing of what is asked, and words that people use for those of the pages.
const FILLERS = new Set([
  ...["app", "come", "get", "getting", "happen", "happens", "test", "tests", "us", "use", "using", "without"],
]);
const SYNONYMS = {
  custom: "extra",
  dedupe: "duplicate",
  deduplicate: "duplicate",
  deduplication: "duplicate",
  localhost: "container",
  migrate: "stub",
  missing: "lost",
  offline: "phone",
  settings: "configuration",
  sign: "signature",
  started: "first",
  testcontainers: "container",
  unsubscribe: "stop",
};

const stem = (word) => new Stemmer().stemWord(word);
const wordsOf = (text) =>
  splitQuery(text.toLowerCase()).filter((word) => !FILLERS.has(word) && !stopwords.has(word));
const asked = new Set();

var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,

  score: ([docname, , , , score, , kind]) => {
    const [, place] = PLACES.find(([start]) => docname.startsWith(start));
    if (kind === "object") return place;
    if (kind === "text") return place + rank(docname);
    return place + score + (asked.size > 1 ? rank(docname) : 0); // a heading in the words that were asked
  },
};

function pagesWith(word) {
  const { terms, titleterms } = Search._index;
  const pages = (index) => (Object.hasOwn(index, word) ? [index[word]].flat() : []);
  return [pages(terms), pages(titleterms)];
}

function weightOf(word) {
  const [inText, inHeading] = pagesWith(word);
  return 1 + Math.log(Search._index.docnames.length / (inText.length + inHeading.length + 1));
}

// What the passage that has most of the words is worth, and more if several passages have as many.
function together(page) {
  if (asked.size === 1) return 0;
  const sums = new Map([[-1, 0]]);
  for (const word of asked) {
    for (const passage of Search._index.passages[word]?.[page] ?? []) {
      sums.set(passage, (sums.get(passage) ?? 0) + weightOf(word));
    }
  }
  const best = Math.max(...sums.values());
  const times = [...sums.values()].filter((sum) => sum === best).length;
  return best * (TOGETHER + OFTEN * Math.log(times));
}

// "parallel" finds "parallels", and "time" does not find "timeouts".
const isBeginning = (word, other) => word.length > 3 && other.startsWith(word) && other.length < word.length + 3;

function rank(docname) {
  const page = Search._index.docnames.indexOf(docname);
  const titled = wordsOf(Search._index.titles[page]).map(stem);
  const named = wordsOf(docname.split("/").pop()).map(stem);
  let [sum, weights] = [0, 0];
  for (const word of asked) {
    const [inText, inHeading] = pagesWith(word);
    const weight = weightOf(word);
    weights += weight;
    if (titled.includes(word)) sum += weight * (IN_TITLE - titled.indexOf(word) / 2);
    else if (titled.some((other) => isBeginning(word, other))) sum += weight * BEGINS_IN_TITLE;
    else if (inHeading.includes(page)) sum += weight * IN_HEADING;
    else if (inText.includes(page)) sum += weight * IN_TEXT;
  }
  return (sum + together(page)) / weights + named.filter((word) => asked.has(word)).length / named.length;
}

const parse = Search._parseQuery;
Search._parseQuery = (query) => {
  const said = wordsOf(query);
  const [, words, ...rest] = parse(said.map((word) => SYNONYMS[word] ?? word).join(" "));
  for (const word of said) if (/^\d+$/.test(word)) words.add(word); // Sphinx leaves numbers out
  asked.clear();
  for (const word of words) asked.add(word);
  return [query, words, ...rest];
};

const findAll = Search.performTermsSearch;
Search.performTermsSearch = (words, excluded) => {
  const found = [...words].flatMap((word) => findAll(new Set([word]), excluded));
  const times = (docname) => found.filter(([other]) => other === docname).length;
  return found.filter(([docname]) => times(docname) >= words.size / 2);
};
