package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit/bundle"
	"railguard/audit/bundle/judge"
)

// bundleFiles returns the files of a bundle, with slashes in their names.
func bundleFiles(t *testing.T, dir string) (names []string) {
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			name, _ := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	}))
	return names
}

// resum writes the checksums anew, as a forger can.
func resum(t *testing.T, dir string) {
	var text strings.Builder
	names := bundleFiles(t, dir)
	slices.Sort(names)
	for _, name := range names {
		if name != "SHA256SUMS" {
			sum := sha256.Sum256([]byte(readFile(t, filepath.Join(dir, name))))
			text.WriteString(hex.EncodeToString(sum[:]) + "  " + name + "\n")
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(text.String()), 0o600))
}

// makeBundle makes calls of every kind and writes a bundle of their records.
func makeBundle(t *testing.T) (o *outsider, dir string) {
	o = newOutsider(t)
	token := o.node.token(t)
	for _, body := range []string{
		`"amount":1,"cpName":"Bakery"`, `"amount":999999999`, `"amount":2,"cpName":"<script>alert(1)</script>\u0026 Söhne"`, `"amount":3,"chain":"dogecoin"`, `"amount":4,"cpName":"Lazarus Group"`,
	} {
		o.node.must(t, 200, "POST", "/v1/screen", `{"token":"`+token+`",`+body+`}`)
	}
	o.node.must(t, 200, "POST", "/v1/screen", `{"token":"not one","amount":5}`)
	paid := o.node.must(t, 200, "POST", "/v1/screen", `{"token":"`+token+`","amount":6,"cpWallet":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","chain":"base","rail":"usdc","permit":{}}`)
	o.node.must(t, 200, "POST", "/v1/transactions/"+paid["txnId"].(string)+"/confirm", `{}`)
	o.node.must(t, 200, "POST", "/v1/permits/redeem", `{"permit":"`+paid["permit"].(string)+`"}`)
	o.checkpoint(o.now.Size + 9)
	dir = o.in("may")
	require.Equal(t, dir+"\n", o.ask("audit", "bundle", "--out", dir, "--url", o.server.URL, "--key", groupKey, "--data", o.in("none")))
	return o, dir
}

// Without a server, a bundle is proven file by file and its decisions are made again.
func TestBundle(t *testing.T) {
	o, dir := makeBundle(t)
	out := o.ask("verify", dir, "--keys", o.keys)
	require.Contains(t, out, "PROVEN: export, complete from ")
	require.Contains(t, out, "6 decisions were made again with the list and the policy in the bundle")
	require.Contains(t, out, "2 confirmations and redemptions of payments were judged again with the list and the policy in the bundle, and came out as recorded")
	require.Contains(t, out, "NOT shown:  whether a payment that was confirmed or redeemed had leave then")
	require.Contains(t, out, "1 decisions cannot be made again")
	var report struct {
		Proven bool
		Replay bundle.Replay
		Lists  []string
	}
	require.NoError(t, json.Unmarshal([]byte(o.ask("verify", dir, "--keys", o.keys, "-o", "json")), &report))
	require.True(t, report.Proven)
	require.Equal(t, [3]int{6, 1, 0}, [3]int{report.Replay.Same, report.Replay.NoEvidence, report.Replay.DifferentCount})
	require.Len(t, report.Lists, 1)
	requirePage(t, dir)
	for _, name := range []string{"README.txt", "bundle.json", "checkpoint.txt", "policies/1.json"} {
		require.FileExists(t, filepath.Join(dir, name), bundleFiles(t, dir))
	}

	packed := o.in("may.tar.zst")
	o.ask("audit", "bundle", "--out", packed, "--url", o.server.URL, "--key", groupKey, "--data", o.in("none"))
	require.Contains(t, o.consistent("verify", packed), "NOT shown:  whose log this is")
	require.Regexp(t, `it names railguard .*, whose file has the SHA-256 [0-9a-f]{64}`, o.consistent("verify", packed))
	require.NoDirExists(t, packed+".part")
	data := readFile(t, packed)
	o.refused(exitFailed, "", "verify", o.write("cut.tar.zst", data[:len(data)*2/3]), "--keys", o.keys)
	o.refused(exitFailed, "stands behind the end", "verify", o.write("longer.tar.zst", data+data), "--keys", o.keys)
	o.refused(exitUsage, "exists", "audit", "bundle", "--out", dir, "--url", o.server.URL, "--key", groupKey)
	o.refused(exitUsage, "--out", "audit", "bundle", "--url", o.server.URL, "--key", groupKey)
	o.refused(exitFailed, "unauthorized", "audit", "bundle", "--out", o.in("other"), "--url", o.server.URL, "--key", "rg_live_nobody000000000000000000000", "--data", o.in("none"))
}

// requirePage holds a bundle's page to what this program carries: the second judge, or the word that
// there is none.
func requirePage(t *testing.T, dir string) {
	index, table := readFile(t, filepath.Join(dir, "index.html")), readFile(t, filepath.Join(dir, "bundle.json"))
	require.NotContains(t, index, "alert(1)", "what stands in records is no markup")
	if page := judge.Page(); page != nil {
		require.True(t, strings.HasPrefix(index, string(page)))
		require.Contains(t, index, `data-name="records.ndjson">`)
		require.Contains(t, table, judge.Digest())
		return
	}
	require.Contains(t, index, "This page judges nothing.")
	require.NotContains(t, index, "<script")
	require.NotContains(t, table, `"judge"`)
}

// Programs ask whether this one carries the second judge.
func TestVersionNamesTheJudge(t *testing.T) {
	out, _, err := run(t, "version", "--json")
	require.NoError(t, err)
	var said struct {
		Version string
		Judge   *string
	}
	require.NoError(t, json.Unmarshal([]byte(out), &said))
	require.Equal(t, version, said.Version)
	require.Equal(t, judge.Digest() != "", said.Judge != nil)
	if said.Judge != nil {
		require.Equal(t, judge.Digest(), *said.Judge)
	}
}

// A proof, an export and a bundle are compared with a newer head that the reader got himself.
func TestVerifyDemandsTheHead(t *testing.T) {
	o, dir := makeBundle(t)
	var made struct{ TreeSize uint64 }
	require.NoError(t, json.Unmarshal([]byte(readFile(t, filepath.Join(dir, "bundle.json"))), &made))
	token := o.node.token(t)
	for range 3 {
		o.node.pay(t, token)
	}
	head := o.write("head", o.checkpoint(made.TreeSize))
	between := o.write("between", o.get(fmt.Sprintf("/log/consistency/%d/%d", made.TreeSize, o.now.Size)))
	demand := []string{"verify", dir, "--keys", o.keys, "--head", head}
	require.Contains(t, o.ask(append(demand, "--head-proof", between)...), fmt.Sprintf("the head that you gave, of %d leaves, continue one another", o.now.Size))
	o.refused(exitUsage, "GET /log/consistency/", demand...)
	o.refused(exitFailed, "do not continue one another", append(demand, "--head-proof", o.write("forged", strings.Replace(readFile(t, between), `"path":["`, `"path":["AAAA`, 1)))...)
	o.refused(exitUsage, "--head", append(demand, "--head-proof", o.in("nowhere"))...)
	o.refused(exitUsage, "--head needs --keys", "verify", dir, "--head", head)
	o.refused(exitUsage, "--head-proof needs --head", "verify", dir, "--keys", o.keys, "--head-proof", between)
	require.Contains(t, o.ask("verify", filepath.Join(dir, "records.ndjson"), "--keys", o.keys, "--head", o.write("same", readFile(t, filepath.Join(dir, "checkpoint.txt")))), "continue one another")
}

// Every changed, removed or added file is refused by its name, even if the checksums were
// written anew.
func TestBundlesCannotBeAltered(t *testing.T) {
	o, dir := makeBundle(t)
	names := bundleFiles(t, dir)
	require.Greater(t, len(names), 7)
	try := func(name, what string, forger bool, change func(path string)) {
		t.Helper()
		other := filepath.Join(t.TempDir(), "b")
		require.NoError(t, os.CopyFS(other, os.DirFS(dir)))
		change(filepath.Join(other, filepath.FromSlash(name)))
		if forger {
			resum(t, other)
		}
		_, code, err := run(t, "verify", other, "--keys", o.keys)
		require.Error(t, err, "%s %s", name, what)
		require.NotEqual(t, exitOK, code)
		require.ErrorContains(t, err, name, what)
	}
	for _, name := range names {
		for _, forger := range []bool{false, true} {
			if forger && name == "SHA256SUMS" {
				continue // The verb writes it anew.
			}
			for _, place := range []int{0, 1, 2} {
				try(name, "changed", forger, func(path string) {
					data := []byte(readFile(t, path))
					data[place*(len(data)-1)/2] ^= 1
					require.NoError(t, os.WriteFile(path, data, 0o600))
				})
			}
			try(name, "removed", forger, func(path string) { require.NoError(t, os.Remove(path)) })
			try(name, "emptied", forger, func(path string) { require.NoError(t, os.WriteFile(path, nil, 0o600)) })
		}
	}
	for _, name := range []string{"extra.txt", "cases/7.html", "records/7.html", "lists/" + strings.Repeat("0", 64) + ".entities", "policies/7.json", "witnesses.txt", "consistency.json"} {
		for _, forger := range []bool{false, true} {
			try(name, "added", forger, func(path string) { require.NoError(t, os.WriteFile(path, []byte("x"), 0o600)) })
		}
	}
	try("index.html", "a link", false, func(path string) {
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.Symlink("README.txt", path))
	})
	o.refused(exitUsage, "keys", "verify", dir, "--keys", o.write("nokeys", "#\n"))
}
