// Identifiers in the service's normal form.

// The letters of ASCII alone, so that all clients do the same.
export const upper = (text: string): string => text.replace(/[a-z]/g, (c) => c.toUpperCase());
export const lower = (text: string): string => text.replace(/[A-Z]/g, (c) => c.toLowerCase());

// Words that people write before a number.
const writtenWords: Record<string, string[]> = { iban: ["IBAN"], imo: ["IMONO", "IMO"], mmsi: ["MMSI"], lei: ["LEI"], duns: ["DUNS"] };
const documents = ["bic", "iban", "lei", "tax_id", "registration", "national_id", "passport", "imo", "mmsi", "aircraft_tail", "duns", "account"];

/** The normal form of an identifier, in which two spellings are the same. It reads ASCII alone. */
export function identifierForm(type: string, text: string): string {
  if (/[^\x00-\x7f]/.test(text)) throw new RangeError("not an identifier in ASCII");
  let form: string;
  if (type === "email") form = emailForm(text);
  else if (type === "website") form = hostForm(hostOf(text));
  else if (type === "phone") form = phoneForm(text);
  else if (documents.includes(type)) form = documentForm(type, text);
  else throw new RangeError("not a type of identifier");
  if (!form) throw new RangeError("not an identifier in ASCII");
  return form;
}

/** Letters and digits, in upper case. A BIC of a main office has eleven characters. */
function documentForm(type: string, text: string): string {
  let form = upper(text.replace(/[^A-Za-z0-9]/g, ""));
  for (const word of writtenWords[type] ?? []) {
    const rest = form.slice(word.length);
    if (form.startsWith(word) && rest && (rest[0]! <= "9" || form.length > 15)) form = rest;
  }
  if (type === "bic" && form.length === 12) return form.slice(0, 8) + form.slice(9); // The ninth character is a terminal's.
  return type === "bic" && form.length === 8 ? form + "XXX" : form;
}

const trimSigns = (text: string): string => text.replace(/^[ \t\r\n"'<>,;]+|[ \t\r\n"'<>,;]+$/g, "");

/** An address as people write it, with a name before it or "mailto:". */
function emailForm(text: string): string {
  text = trimSigns(text);
  if (text.includes("<")) text = trimSigns(text.slice(text.lastIndexOf("<")));
  if (text.length > 7 && lower(text.slice(0, 7)) === "mailto:") text = text.slice(7);
  if (text.indexOf("?") > 0) text = text.slice(0, text.indexOf("?"));
  const at = text.lastIndexOf("@");
  const host = hostForm(text.slice(at + 1));
  if (at <= 0 || !host) return "";
  return lower(text.slice(0, at).replace(/[\x00-\x20]/g, "")) + "@" + (host === "googlemail.com" ? "gmail.com" : host);
}

/** The host of an address of the web. */
function hostOf(text: string): string {
  text = trimSigns(text);
  if (/^[^:]+:[/\\]/.test(text)) text = text.slice(text.indexOf(":") + 1).replace(/^[/\\]+/, "");
  text = text.replace(/^[/\\ ]+/, "").split(/[/\\?#]/, 1)[0]!;
  text = text.slice(text.lastIndexOf("@") + 1);
  return text.split(":").length === 2 ? text.slice(0, text.indexOf(":")) : text;
}

function hostForm(host: string): string {
  const form = lower(host).replace(/[\x00-\x20[\]()]/g, "").replace(/\.+$/, "");
  return form.startsWith("www.") && form.indexOf(".", 4) > 4 ? form.slice(4) : form;
}

/** The digits of a telephone number (E.164), without "(0)", "00" and an extension. */
function phoneForm(text: string): string {
  let form = "";
  for (let at = 0; at < text.length; at++) {
    if (form && text.startsWith("(0)", at)) at += 2;
    else if (/[0-9]/.test(text[at]!)) form += text[at];
    else if (form.length > 5 && "xXeE#;".includes(text[at]!)) break;
  }
  return form.length > 2 && form.startsWith("00") ? form.slice(2) : form;
}
