// How the site's search ranks. Sphinx writes this behind its searchtools.js, whose parts it replaces.
//
// Sphinx shows the pages that have every word, and ranks a page by its best word. Here a page needs half
// of the words (of those that are found anywhere), so that a question finds its answer, and all words make
// the rank, rare ones most: by whether they stand in the page's title, in a heading (or its first
// paragraph), or in its text, and whether one passage has them all. A word is found by its synonym, too.

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

// Words of questions that say nothing of what is asked, and words of the pages for those that people use.
const FILLERS = new Set([
  ...["app", "come", "get", "getting", "happen", "happens", "test", "tests", "us", "use", "using", "without"],
]);
const SYNONYMS = {
  accurate: "fidelity",
  aiokafka: "kafka",
  aiosqlite: "sqlalchemy",
  asgi: "fastapi",
  asyncpg: "sqlalchemy",
  authentication: "signature",
  bulk: "campaign",
  chatbot: "inbound",
  contract: "fidelity",
  credit: "balance",
  custom: "extra",
  dedupe: "duplicate",
  deduplicate: "duplicate",
  enough: "low",
  exactly: "duplicate",
  flaky: "background",
  funds: "balance",
  gunicorn: "uvicorn",
  intermittent: "background",
  jenkins: "ci",
  kill: "crash",
  kombu: "celery",
  kubernetes: "container",
  latency: "slow",
  localhost: "container",
  locally: "container",
  migrate: "stub",
  missing: "lost",
  money: "balance",
  negative: "low",
  motor: "mongodb",
  offline: "phone",
  opt: "stop",
  partial: "crash",
  peewee: "sqlalchemy",
  pika: "rabbitmq",
  poll: "wait",
  pubsub: "kafka",
  pymemcache: "memcached",
  pymongo: "mongodb",
  receipt: "offline",
  repeat: "duplicate",
  restart: "deployment",
  settings: "configuration",
  sign: "signature",
  sqlmodel: "sqlalchemy",
  stamina: "tenacity",
  started: "first",
  testcontainers: "container",
  thousands: "campaign",
  throttling: "limit",
  tortoise: "sqlalchemy",
  unsubscribe: "stop",
  valkey: "redis",
  wsgi: "flask",
  zappa: "mangum",
};

const stem = (word) => new Stemmer().stemWord(word);
const wordsOf = (text) =>
  splitQuery(text.toLowerCase()).filter((word) => !FILLERS.has(word) && !stopwords.has(word));
let asked = []; // for each word: the stems that it may be (its own, its synonym's), its pages and its weight

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
    return place + score + (asked.length > 1 ? rank(docname) : 0); // a heading in the words that were asked
  },
};

function lookUp(stems) {
  const { terms, titleterms, docnames } = Search._index;
  const pages = (index) => stems.flatMap((one) => (Object.hasOwn(index, one) ? index[one] : []));
  const [inText, inHeading] = [pages(terms), pages(titleterms)];
  return { stems, inText, inHeading, weight: 1 + Math.log(docnames.length / (inText.length + inHeading.length + 1)) };
}

// What the passage that has most of the words is worth, and more if several passages have as many.
function together(page) {
  if (asked.length === 1) return 0;
  const sums = new Map([[-1, 0]]);
  for (const { stems, weight } of asked) {
    const passages = stems.flatMap((one) => Search._index.passages[one]?.[page] ?? []);
    for (const passage of new Set(passages)) {
      sums.set(passage, (sums.get(passage) ?? 0) + weight);
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
  for (const { stems, inText, inHeading, weight } of asked) {
    const place = titled.findIndex((other) => stems.includes(other));
    weights += weight;
    if (place >= 0) sum += weight * (IN_TITLE - place / 2);
    else if (titled.some((other) => isBeginning(stems[0], other))) sum += weight * BEGINS_IN_TITLE;
    else if (inHeading.includes(page)) sum += weight * IN_HEADING;
    else if (inText.includes(page)) sum += weight * IN_TEXT;
  }
  const askedNames = named.filter((word) => asked.some(({ stems }) => stems.includes(word)));
  return (sum + together(page)) / weights + askedNames.length / named.length;
}

const parse = Search._parseQuery;
Search._parseQuery = (query) => {
  const said = wordsOf(query);
  const [, words, ...rest] = parse(said.join(" "));
  for (const word of said) if (/^\d+$/.test(word)) words.add(word); // Sphinx leaves numbers out
  const synonyms = new Map(Object.entries(SYNONYMS).map((pair) => pair.map(stem)));
  asked = [...words].map((word) => lookUp(synonyms.has(word) ? [word, synonyms.get(word)] : [word]));
  return [query, words, ...rest];
};

const findAll = Search.performTermsSearch;
Search.performTermsSearch = (words, excluded) => {
  const pages = (stems) => stems.flatMap((one) => findAll(new Set([one]), excluded));
  const found = asked.map(({ stems }) => new Map(pages(stems).map((page) => [page[0], page])));
  const known = found.filter((some) => some.size > 0);
  const times = (docname) => known.filter((some) => some.has(docname)).length;
  return known.flatMap((some) => [...some.values()]).filter(([docname]) => times(docname) >= known.length / 2);
};
