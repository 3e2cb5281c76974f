"use strict";
// The search of a site that `ccgrep export --site` wrote. It loads the files in search/ by script
// elements, because a page on a disk may not fetch anything.

const MAX_HITS = 50;
const GROUPS = 128;
const CJK = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]/;
let sessions, turns;
const words = new Map();
const scripts = new Map();

function ccgrepSessions(value) { sessions = value; }
function ccgrepTurns(value) { turns = value; }
function ccgrepWords(value) {
  for (const [word, distances] of Object.entries(value)) {
    let turn = 0;
    words.set(word, distances.map((distance) => (turn += distance)));
  }
}

// Load a file once; one that does not exist has no words.
function load(name) {
  if (!scripts.has(name)) {
    scripts.set(name, new Promise((done) => {
      const script = document.createElement("script");
      script.src = `search/${name}.js`;
      script.onload = script.onerror = done;
      document.head.append(script);
    }));
  }
  return scripts.get(name);
}

function splitWords(text) {
  return [...new Set((text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).flatMap((run) => {
    const chars = [...run];
    if (!CJK.test(run)) return [chars.slice(0, 40).join("")];
    if (chars.length === 1) return [run];
    return chars.slice(1).map((char, at) => chars[at] + char);
  }))];
}

function groupOf(word) {
  const [first, second = 0] = [...word].map((char) => char.codePointAt(0));
  return (first * 31 + second) % GROUPS;
}

// Return the turns that have a word, or one that begins with it, and a weight: rare words count more.
function findTurns(word) {
  const found = new Set(words.get(word) ?? []);
  if ([...word].length > 2) {
    for (const [longer, places] of words) {
      if (longer.startsWith(word)) places.forEach((turn) => found.add(turn));
    }
  }
  return [found, Math.log(1 + turns.length / (found.size || 1))];
}

async function search(text) {
  const typed = splitWords(text);
  await Promise.all([load("sessions"), load("turns"), ...typed.map((word) => load(groupOf(word)))]);
  const scores = new Map();
  for (const word of typed) {
    const [found, weight] = findTurns(word);
    for (const turn of found) scores.set(turn, (scores.get(turn) ?? 0) + weight);
  }
  // Newer sessions come first in the data, so of equal turns the newer one is first.
  return [...scores].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([turn]) => turns[turn]);
}

function show(hits, list, summary) {
  const count = hits.length === 1 ? "1 turn" : `${hits.length} turns`;
  summary.textContent = hits.length > MAX_HITS ? `${count}, the best ${MAX_HITS} are shown` : count;
  list.replaceChildren(...hits.slice(0, MAX_HITS).map(([session, turn, text]) => {
    const [id, title, project, day] = sessions[session];
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = `session/${encodeURIComponent(id)}.html#s0-t${turn}`;
    link.textContent = title || id;
    const facts = document.createElement("p");
    facts.className = "facts";
    facts.textContent = [day, project].filter(Boolean).join(" · ");
    const excerpt = document.createElement("p");
    excerpt.textContent = text;
    item.append(link, facts, excerpt);
    return item;
  }));
}

const box = document.querySelector("#query");
async function run() {
  const text = box.value;
  const list = document.querySelector("#hits");
  const summary = document.querySelector("#found");
  const hits = text.trim() ? await search(text) : [];
  if (text !== box.value) return; // More was typed meanwhile.
  show(hits, list, summary);
  document.querySelector("#listing").hidden = Boolean(text.trim());
  if (!text.trim()) summary.textContent = "";
}
box.addEventListener("input", run);
box.value = new URLSearchParams(location.hash.slice(1)).get("q") ?? "";
run();
