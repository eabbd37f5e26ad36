"use strict";
// The page around the second judge. It reads files, asks the program for its judgement, and shows
// what that says as text. It makes no markup of anything that stands in a bundle.
(() => {
  const filesMax = 10000, bytesMax = 512 << 20, rowsStep = 500;
  const at = (id) => document.getElementById(id);
  const strange = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g; // Signs that hide or turn around a text.
  const print = (text) => String(text).replace(strange, "\ufffd");

  const decode = (text) => {
    const raw = atob(text), bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return bytes;
  };

  const say = (verdict, kind, headline, error) => {
    at("verdict").textContent = print(verdict);
    at("verdict").className = kind;
    at("headline").textContent = print(headline);
    at("error").textContent = print(error);
  };

  // What is judged: files by their names, whether they are packed, whether this page carried them.
  let evidence = null, rows = [], standing = "", paid = new Map(); // paid: confirmations and redemptions by the leaf of their decision.

  const start = async () => {
    const packed = new Blob([decode(at("wasm").textContent)]).stream().pipeThrough(new DecompressionStream("gzip"));
    const go = new Go();
    const { instance } = await WebAssembly.instantiate(await new Response(packed).arrayBuffer(), go.importObject);
    go.run(instance).then(() => { globalThis.railguardJudge = undefined; });
  };

  const carried = () => {
    const files = Object.create(null);
    for (const block of document.querySelectorAll("script[data-name]")) files[block.dataset.name] = decode(block.textContent);
    return Object.keys(files).length ? { files, packed: false, carried: true } : null;
  };

  // chosen reads a folder that somebody chose. Its own name, which comes first, is cut.
  const chosen = async (list, packed) => {
    let bytes = 0;
    for (const file of list) bytes += file.size;
    if (list.length > filesMax || bytes > bytesMax) throw new Error(list.length + " files of " + bytes + " bytes are more than a page can judge: use railguard verify");
    const files = Object.create(null);
    for (const file of list) files[packed ? file.name : file.webkitRelativePath.split("/").slice(1).join("/")] = new Uint8Array(await file.arrayBuffer());
    return { files, packed, carried: false };
  };

  const cell = (row, text, name) => {
    const made = document.createElement("td");
    made.textContent = print(text === undefined ? "" : text);
    if (name) made.className = name;
    row.append(made);
  };

  const list = (id, texts) => {
    at(id).replaceChildren(...texts.map((text) => {
      const item = document.createElement("li");
      item.textContent = print(text);
      return item;
    }));
  };

  const showFiles = (files) => {
    const words = { proven: "yes", refused: "NO", open: "not shown" };
    at("files").replaceChildren(...files.map((file) => {
      const row = document.createElement("tr");
      row.dataset.name = file.name;
      cell(row, file.name, "mono");
      cell(row, file.bytes, "n");
      cell(row, words[file.state], file.state === "refused" ? "bad" : "");
      cell(row, file.why, file.state === "refused" ? "bad" : "");
      cell(row, file.sha256, "mono");
      return row;
    }));
  };

  const again = (r) => {
    if (!r.outcome) return "";
    if (r.noPayment) return "cannot be judged again: the record of its payment is not in this bundle";
    if (r.outcome === "not again") return "cannot be judged again: without a usable credential nothing was judged";
    let text = (r.outcome === "same" ? "" : "DIFFERENT: ") + r.againVerdict + " " + (r.againRule || "");
    if (r.assumed) text += " (taken from the record: " + r.assumed.join(", ") + ")";
    return text;
  };

  // later says what became of a decision when its payment was confirmed or redeemed.
  const later = (r) => (paid.get(r.leaf) || []).map((p) => p.kind + ", leaf " + p.leaf + ": " + p.verdict + " " + (p.rule || "") + "; judged again: " + again(p)).join(". ");

  const showRows = (from) => {
    for (const r of rows.slice(from, from + rowsStep)) {
      const row = document.createElement("tr");
      row.dataset.leaf = r.leaf;
      cell(row, r.leaf, "n");
      cell(row, r.time, "v");
      cell(row, r.kind);
      cell(row, standing, standing === "NO" ? "bad" : "");
      cell(row, r.outcome ? r.verdict + " " + (r.rule || "") + " " + (r.reason || "") : "", r.verdict === "BLOCK" ? "BLOCK" : "");
      cell(row, again(r), r.outcome === "different" ? "bad" : "");
      cell(row, r.txnId, "mono");
      cell(row, (r.agent || "") + " " + (r.operator || ""));
      cell(row, r.amount, "n");
      cell(row, r.counterparty);
      cell(row, r.outcome ? (r.list ? "list " + (r.listVersion || "") + ", sha256 " + r.list.slice(0, 16) + "…; " : "no list; ") + (r.policyVersion ? "policy " + r.policyVersion : "no policy") : "");
      cell(row, (r.disposition || "") + " " + (r.by || ""));
      cell(row, later(r), (paid.get(r.leaf) || []).some((p) => p.outcome === "different") ? "bad" : "");
      at("rows").append(row);
    }
    at("more").hidden = at("rows").children.length >= rows.length;
  };

  const make = (name, text, kind) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = print(text);
    if (kind) made.className = kind;
    return made;
  };

  // pairs is a table of names and values.
  const pairs = (facts) => {
    const made = make("table"), body = make("tbody");
    for (const [what, value] of facts) {
      if (!value) continue;
      const row = make("tr");
      row.append(make("th", what), make("td", value));
      body.append(row);
    }
    made.append(body);
    return made;
  };
  const said = (facts) => (facts || []).map((f) => [f.what, f.value]);

  // chapter tells one case.
  const chapter = (c, number) => {
    const box = make("article");
    box.dataset.leaf = c.leaf;
    const payee = (c.told || []).find((f) => f.what === "name of the counterparty") || (c.told || []).find((f) => f.what === "wallet of the counterparty");
    box.append(make("h3", number + ". " + c.verdict + ": " + (c.amount || "a payment") + " to " + (payee ? payee.value : "an unnamed counterparty")), make("p", c.reason));
    if (c.outcome) box.append(make("p", "Officers decided: " + c.outcome + ".", "bold"));
    else if (c.verdict === "REVIEW") box.append(make("p", "Officers have decided nothing within this bundle.", "bold"));
    box.append(pairs([["when", c.time], ["transaction", c.txnId], ["rules that fired", (c.rules || []).join(", ")], ["who paid", (c.agent || "nobody with a usable credential") + (c.operator ? ", of " + c.operator : "")], ["list", c.list], ["policy", c.policyVersion ? "version " + c.policyVersion : ""]].concat(said(c.told))));
    for (const l of c.listed || []) {
      box.append(make("h4", "On the list: " + (l.name || "entry " + l.uid) + " (" + [l.list, "entry " + l.uid, l.type].filter(Boolean).join(", ") + ")"), make("p", l.how + "."),
        pairs((l.compared || []).map((x) => [x.what + " " + (x.agrees ? "agrees" : "differs"), x.asked + " in the payment, " + x.listed + " on the list"])),
        pairs([["names", (l.names || []).join("; ")], ["programmes", (l.programs || []).join(", ")]].concat(said(l.facts))));
    }
    if (c.steps) box.append(make("h4", "What was decided, in the officers’ words"));
    for (const s of c.steps || []) {
      box.append(make("p", s.time + " · " + s.what + (s.who ? " · " + s.who : "")));
      if (s.words) box.append(make("blockquote", s.words));
    }
    return box;
  };

  let chapters = [];
  const showChapters = (from) => {
    for (let i = from; i < Math.min(from + 50, chapters.length); i++) at("chapters").append(chapter(chapters[i], i + 1));
    at("further").hidden = at("chapters").children.length >= chapters.length;
  };

  const show = (answer) => {
    const kind = answer.error ? "refused" : answer.proven ? "proven" : "consistent";
    say(answer.verdict, kind, answer.error ? "" : answer.headline, answer.error || "");
    chapters = answer.recordsStand ? answer.chapters : [];
    at("told").textContent = !answer.recordsStand ? "Nothing is told of what is not proven." : answer.cases + (answer.cases === 1 ? " case" : " cases") + ": each decision that did not just proceed, and each that named a listed party." + (answer.cases > chapters.length ? " The first " + chapters.length + " are told here." : "");
    at("chapters").replaceChildren();
    showChapters(0);
    list("shown", answer.shown);
    list("notshown", answer.notShown);
    at("whose").textContent = answer.keys.fingerprint ? "Keys " + answer.keys.fingerprint + (answer.keys.given ? ", as you gave them." : ", from the bundle itself: nothing shows whose they are.") : "Nobody's signature was verified.";
    list("signers", answer.keys.lines);
    showFiles(answer.files);
    rows = answer.rows;
    paid = new Map();
    for (const r of rows) if (r.of !== undefined) paid.set(r.of, (paid.get(r.of) || []).concat(r));
    standing = !answer.recordsStand ? "NO" : answer.keys.given ? "yes" : "consistent";
    const different = rows.filter((r) => r.outcome === "different").length;
    at("counts").textContent = answer.recordsStand
      ? rows.length + answer.more + " records; " + different + " decisions come out otherwise." + (answer.more ? " The first are shown; " + answer.more + " more were judged alike." : "")
      : "What was read until the fault. Nothing of it is proven.";
    at("rows").replaceChildren();
    showRows(0);
    at("results").hidden = false;
  };

  const judge = async () => {
    at("results").hidden = true;
    at("judged").textContent = "";
    if (!evidence) return say("Choose the folder of the bundle.", "", "", "");
    at("whence").textContent = evidence.carried ? "Judged are the copies of the files that this page carries. Choose the folder to have the files themselves proven, and this page among them."
      : "Judged are the files that you chose.";
    say("Judging…", "", "", "");
    await new Promise((done) => setTimeout(done, 30)); // So that the browser draws it.
    const began = performance.now();
    let answer;
    try {
      answer = globalThis.railguardJudge(evidence.files, evidence.packed, evidence.carried, at("keys").value);
    } catch (error) {
      answer = undefined;
    }
    if (typeof answer !== "string") return say("NOT PROVEN", "refused", "", "The program ended without an answer. Load the page anew.");
    show(JSON.parse(answer));
    at("judged").textContent = "Judged in " + ((performance.now() - began) / 1000).toFixed(1) + " s.";
  };

  const choose = (id, packed) => {
    at(id).addEventListener("change", async () => {
      try {
        evidence = null;
        if (at(id).files.length) evidence = await chosen(at(id).files, packed);
        await judge();
      } catch (error) {
        say("NOT PROVEN", "refused", "", error.message);
      }
    });
  };

  addEventListener("DOMContentLoaded", async () => {
    at("again").addEventListener("click", judge);
    at("more").addEventListener("click", () => showRows(at("rows").children.length));
    at("further").addEventListener("click", () => showChapters(at("chapters").children.length));
    choose("folder", false);
    choose("packed", true);
    say("Starting the judge…", "", "", "");
    try {
      await start();
      evidence = carried();
      await judge();
    } catch (error) {
      say("NOT PROVEN", "refused", "", "The judge did not start: " + error.message);
    }
  });
})();
