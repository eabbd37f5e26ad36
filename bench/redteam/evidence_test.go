package redteam

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"railguard/bench/conformance"
)

// tool runs the product's own command and returns what it printed and its exit code.
func (w *world) tool(e conformance.Examiner, args ...string) (said string, code int) {
	command := exec.CommandContext(e.Context(), w.binary, args...)
	command.Env = append(os.Environ(), "RAILGUARD_URL="+w.bases[0], "RAILGUARD_KEY="+w.root)
	out, err := command.CombinedOutput()
	ended := new(exec.ExitError)
	if err != nil && !errors.As(err, &ended) {
		e.Must(errors.Is(err, context.DeadlineExceeded), "%s %v: %v", w.binary, args, err)
	}
	return string(out), command.ProcessState.ExitCode()
}

// keep writes bytes to a file of the attack.
func (w *world) keep(e conformance.Examiner, name string, data []byte) string {
	path := filepath.Join(w.files, e.Name(name))
	e.Must(os.WriteFile(path, data, 0o600) == nil, "the stage: %s cannot be written", path)
	return path
}

// evidence is what an examiner is given: two proofs, an export and the log's keys.
type evidence struct {
	keys, proof, other, export []byte
	keysFile                   string
}

func (w *world) gather(e conformance.Examiner) *evidence {
	read := func(path string) []byte {
		return w.must(e, w.house.keys["auditor"], "GET", path, nil).Raw
	}
	v := &evidence{proof: read("/v1/audit/" + w.a.owned["case"] + "/proof"), other: read("/v1/audit/" + w.b.owned["case"] + "/proof"), export: read("/v1/audit/export")}
	v.keys = w.must(e, "", "GET", "/log/keys", nil).Raw
	v.keysFile = w.keep(e, "keys", v.keys)
	return v
}

// refused: a forged file is not proven, whoever made its checksums.
func (w *world) refused(e conformance.Examiner, v *evidence, what string, forged []byte) {
	path := w.keep(e, "forged", forged)
	said, code := w.tool(e, "verify", path, "--keys", v.keysFile)
	e.Expect(code != 0, "%s is proven: %.300s", what, said)
}

// proven: what is true is proven.
func (w *world) proven(e conformance.Examiner, v *evidence, what string, file []byte) string {
	said, code := w.tool(e, "verify", w.keep(e, "true", file), "--keys", v.keysFile)
	e.Expect(code == 0, "%s is not proven (%d): %.300s", what, code, said)
	return said
}

func tree(raw []byte) obj {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var members obj
	if err := decoder.Decode(&members); err != nil {
		return obj{}
	}
	return members
}

func written(members any) []byte {
	raw, err := json.MarshalIndent(members, " ", "\t")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return raw
}

// changed returns a file whose members are changed.
func changed(raw []byte, change func(obj)) []byte {
	members := tree(raw)
	change(members)
	return written(members)
}

// reformatted: indentation, order and escapes are not evidence, so a true file stays proven (T15).
func (w *world) reformatted(e conformance.Examiner) {
	strange := w.must(e, w.house.keys["screener"], "POST", "/v1/screen", `{"token":"`+w.house.owned["token"]+`","amount":1.50,"cpName":"M\u00fcller <&> \u2028\u007f \ud83d\ude00 GmbH"}`)
	v := w.gather(e)
	v.proof = w.must(e, w.root, "GET", "/v1/audit/"+strange.Text("txnId")+"/proof", nil).Raw
	w.proven(e, v, "a proof as it was served", v.proof)
	w.proven(e, v, "an indented proof", written(tree(v.proof)))
	var lines []string
	for line := range strings.Lines(string(v.export)) {
		compact, err := json.Marshal(tree([]byte(line))) // Members in the order of their names, <, > and & escaped.
		e.Must(err == nil, "BUG: %v", err)
		lines = append(lines, string(compact))
	}
	w.proven(e, v, "an export", v.export)
	w.proven(e, v, "an export in another order of members", []byte(strings.Join(lines, "\n")+"\n"))
	w.proven(e, v, "an export with CRLF", []byte(strings.Join(lines, "\r\n")+"\r\n"))
}

// cut: what was left out of evidence is seen, or the file says in its first line that it cannot show
// what came later (T16).
func (w *world) cut(e conformance.Examiner) {
	v := w.gather(e)
	for _, member := range []string{"disposition", "comments"} {
		file := w.keep(e, "cut", changed(v.proof, func(m obj) { delete(m, member) }))
		said, code := w.tool(e, "verify", file, "--keys", v.keysFile)
		first, _, _ := strings.Cut(said, "\n")
		e.Expect(code != 0 || strings.Contains(first, "later: not shown"), "a proof without its %s is proven: %s", member, first)
		_, code = w.tool(e, "verify", file, "--keys", v.keysFile, "-q")
		e.Expect(code != 0 || strings.Contains(said, "later: not shown"), "and silently so with -q")
	}
	for member, value := range tree(v.proof) {
		items, isList := value.([]any)
		if _, ofObjects := firstOf(items).(obj); !isList || !ofObjects || len(items) < 2 {
			continue
		}
		w.refused(e, v, "a proof without the first of its "+member, changed(v.proof, func(m obj) { m[member] = items[1:] }))
	}
	lines := strings.SplitAfter(strings.TrimRight(string(v.export), "\n")+"\n", "\n")
	lines = lines[:len(lines)-1]
	for _, without := range []int{0, 1, len(lines) / 2, len(lines) - 2, len(lines) - 1} {
		w.refused(e, v, "an export without a line", []byte(strings.Join(slices.Concat(lines[:without], lines[without+1:]), "")))
	}
	w.refused(e, v, "an export that ends early", []byte(strings.Join(lines[:len(lines)/2], "")))
	escalated := w.must(e, w.root, "GET", "/v1/audit/"+w.a.owned["case"], nil)
	early := w.must(e, w.root, "GET", "/v1/audit/export?to="+escalated.Text("screenedAt"), nil)
	said, code := w.tool(e, "verify", w.keep(e, "early", early.Raw), "--keys", v.keysFile)
	first, _, _ := strings.Cut(said, "\n")
	e.Expect(code == 0 && strings.Contains(first, "later: not shown"), "an export that ends between a review and its decision says: %s", first)
}

func firstOf(items []any) any {
	if len(items) == 0 {
		return nil
	}
	return items[0]
}

// mixed: nothing of one record passes for another's, and no readable word differs from its bytes.
func (w *world) mixed(e conformance.Examiner) {
	v := w.gather(e)
	other := tree(v.other)
	for member := range tree(v.proof) {
		if member == "type" || member == "version" {
			continue
		}
		if raw, same := written(tree(v.proof)[member]), written(other[member]); bytes.Equal(raw, same) || member == "checkpoint" && sameTree(v.proof, v.other) {
			continue
		}
		w.refused(e, v, "a proof with another's "+member, changed(v.proof, func(m obj) { m[member] = other[member] }))
	}
	for _, change := range [][2]string{{`"REVIEW"`, `"PROCEED"`}, {"ESCALATE_SAR", "APPROVED"}, {w.a.word, w.b.word}, {`150`, `15`}, {w.secret, "nothing"}} {
		for what, raw := range map[string][]byte{"a proof": v.proof, "an export": v.export} {
			if forged := strings.ReplaceAll(string(raw), change[0], change[1]); forged != string(raw) {
				w.refused(e, v, what+" with "+change[1]+" for "+change[0], []byte(forged))
			}
		}
	}
	lines := strings.SplitAfter(string(v.export), "\n")
	middle := len(lines) / 2
	swapped := slices.Clone(lines)
	swapped[middle], swapped[middle+1] = swapped[middle+1], swapped[middle]
	w.refused(e, v, "an export with two lines swapped", []byte(strings.Join(swapped, "")))
	w.refused(e, v, "an export with a line twice", []byte(strings.Join(slices.Insert(slices.Clone(lines), middle, lines[middle]), "")))
	w.refused(e, v, "two exports in one file", slices.Concat(v.export, v.export))
	w.refused(e, v, "an export and a proof", slices.Concat(v.export, v.proof))
}

// sameTree reports whether the checkpoints of two proofs name one tree. Each then proves both records,
// though they differ where one was signed again.
func sameTree(a, b []byte) bool {
	head := func(proof []byte) []string {
		checkpoint, _ := tree(proof)["checkpoint"].(string)
		lines := strings.SplitN(checkpoint, "\n", 4) // Origin, size and root, then signatures.
		return lines[:min(3, len(lines))]
	}
	return slices.Equal(head(a), head(b))
}

// nobodys: without keys that came another way nothing is proven, whatever the flags (T17).
func (w *world) nobodys(e conformance.Examiner) {
	v := w.gather(e)
	for what, raw := range map[string][]byte{"proof": v.proof, "export": v.export} {
		file := w.keep(e, "nobodys", raw)
		for _, flags := range [][]string{{}, {"-q"}, {"-o", "json"}} {
			said, code := w.tool(e, append([]string{"verify", file}, flags...)...)
			e.Expect(code == 4, "a %s without keys, %v: exit %d", what, flags, code)
			e.Expect(!strings.Contains(said, `"proven":true`) && !strings.Contains(said, `"proven": true`), "a %s without keys is proven: %.200s", what, said)
		}
	}
	bare := strings.TrimRight(string(v.keys), "\n")
	v.keysFile = w.keep(e, "keys", []byte(strings.ReplaceAll(bare, "\n", "\r\n"))) // T18: the same keys with other line ends.
	w.proven(e, v, "a proof by keys with CRLF and no last line end", v.proof)
}

// bundles: an examiner's folder or archive whose keys were changed, or behind which something stands
// (T18, T42).
func (w *world) bundles(e conformance.Examiner) {
	v := w.gather(e)
	folder := filepath.Join(w.files, e.Name("bundle"))
	packed := folder + ".tar.zst"
	for _, out := range []string{folder, packed} {
		said, code := w.tool(e, "audit", "bundle", "--out", out, "--data", w.files)
		e.Must(code == 0, "the stage: audit bundle: %s", said)
		said, code = w.tool(e, "verify", out, "--keys", v.keysFile)
		e.Expect(code == 0, "a true bundle is not proven: %.300s", said)
	}
	archive, err := os.ReadFile(packed)
	e.Must(err == nil, "%v", err)
	for what, more := range map[string][]byte{"itself": archive, "a byte": {0}, "an empty frame": {0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x00, 0x01, 0x00, 0x00}, "words": []byte("index.html")} {
		path := w.keep(e, "longer", nil) + ".tar.zst"
		e.Must(os.WriteFile(path, slices.Concat(archive, more), 0o600) == nil, "BUG: cannot write")
		said, code := w.tool(e, "verify", path, "--keys", v.keysFile)
		e.Expect(code != 0, "a bundle with %s behind it is proven: %.200s", what, said)
	}
	for what, change := range map[string]func(string) string{
		"without its ML-DSA-44 key": func(text string) string {
			return strings.Join(slices.DeleteFunc(strings.SplitAfter(text, "\n"), isPostQuantum), "")
		},
		"with a comment in its keys": func(text string) string { return "# trust me\n" + text },
		"with another's key":         func(text string) string { return text + "other+00000000+AQIDBA==\n" },
	} {
		forged := filepath.Join(w.files, e.Name("forged"))
		e.Must(os.CopyFS(forged, os.DirFS(folder)) == nil, "BUG: cannot copy")
		before, err := os.ReadFile(filepath.Join(forged, "keys.txt"))
		e.Must(err == nil, "%v", err)
		after := change(string(before))
		e.Must(after != string(before), "the stage: keys.txt of a bundle is not %s", what)
		e.Must(os.WriteFile(filepath.Join(forged, "keys.txt"), []byte(after), 0o600) == nil && sumAnew(forged) == nil, "BUG: cannot write")
		for _, flags := range [][]string{{"--keys", v.keysFile}, {}} {
			said, code := w.tool(e, append([]string{"verify", forged}, flags...)...)
			e.Expect(code != 0, "a bundle %s is proven: %.200s", what, said)
		}
	}
}

// isPostQuantum tells whether a line is the log's ML-DSA-44 key, by far the longest.
func isPostQuantum(line string) bool { return len(line) > 1000 }

// sumAnew writes a bundle's checksums anew, as a forger can.
func sumAnew(folder string) error {
	var text strings.Builder
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "SHA256SUMS" {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		sum := sha256.Sum256(data)
		text.WriteString(hex.EncodeToString(sum[:]) + "  " + filepath.ToSlash(name) + "\n")
		return err
	})
	return errors.Join(err, os.WriteFile(filepath.Join(folder, "SHA256SUMS"), []byte(text.String()), 0o600))
}
