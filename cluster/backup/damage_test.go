package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/audit/merkle"
	"railguard/cluster/datadir"
)

// tarPart is one part of a plain backup, with the place of its content in the tar.
type tarPart struct {
	header tar.Header
	data   []byte
	begin  int
}

func readParts(t *testing.T, plain []byte) (parts []tarPart) {
	counted := bytes.NewReader(plain)
	for all := tar.NewReader(counted); ; {
		header, err := all.Next()
		if errors.Is(err, io.EOF) {
			return parts
		}
		require.NoError(t, err)
		begin := len(plain) - counted.Len()
		data, err := io.ReadAll(all)
		require.NoError(t, err)
		parts = append(parts, tarPart{*header, data, begin})
	}
}

func writeParts(t *testing.T, parts []tarPart) []byte {
	var out bytes.Buffer
	to := tar.NewWriter(&out)
	for i := range parts {
		header := parts[i].header
		header.Size = int64(len(parts[i].data))
		require.NoError(t, to.WriteHeader(&header))
		_, err := to.Write(parts[i].data)
		require.NoError(t, err)
	}
	require.NoError(t, to.Close())
	return out.Bytes()
}

func indexOf(t *testing.T, parts []tarPart, name string) int {
	index := slices.IndexFunc(parts, func(p tarPart) bool { return strings.HasPrefix(p.header.Name, name) })
	require.GreaterOrEqual(t, index, 0, name)
	return index
}

// forge makes the checksums in the end part agree with the parts, as somebody who made the file
// anew would.
func forge(t *testing.T, parts []tarPart) []tarPart {
	said := end{Parts: len(parts) - 1, Sha256: map[string]string{}}
	for _, part := range parts[:len(parts)-1] {
		said.Sha256[part.header.Name] = Digest(part.data)
	}
	data, err := json.Marshal(&said)
	require.NoError(t, err)
	parts[len(parts)-1].data = data
	return parts
}

func proveAll(plain []byte) error {
	_, err := proveParts(bytes.NewReader(plain), nil)
	return err
}

func damagedWorld(t *testing.T) []byte {
	w := newWorld(t, "c-test")
	w.notes(300)
	w.addList([]byte("another list"), w.now)
	plain := w.plain(0)
	require.NoError(t, proveAll(plain))
	return plain
}

func TestACutIsFound(t *testing.T) {
	plain := damagedWorld(t)
	// The tar ends with two blocks of zeroes. They are no content: a file without them is
	// whole.
	content := len(plain) - 1024
	draw := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		length := draw.IntN(content)
		require.Error(t, proveAll(plain[:length]), "%d of %d bytes", length, len(plain))
	}
	parts := readParts(t, plain)
	for _, part := range parts {
		err := proveAll(plain[:part.begin+len(part.data)/2])
		require.ErrorContains(t, err, "part "+part.header.Name)
		require.Regexp(t, "the file ends before its end|truncated", err)
	}
	err := proveAll(plain[:parts[2].begin-512])
	require.ErrorContains(t, err, "what follows part 2 is damaged or missing")
}

func TestAFlippedByteIsNamed(t *testing.T) {
	plain := damagedWorld(t)
	draw := rand.New(rand.NewPCG(3, 4))
	for _, part := range readParts(t, plain) {
		for range 12 {
			at := draw.IntN(len(part.data))
			spoilt := bytes.Clone(plain)
			spoilt[part.begin+at] ^= 1 << draw.IntN(8)
			err := proveAll(spoilt)
			if part.header.Name == partEnd && err == nil {
				continue // Go matches the names of JSON members in either case, so a flipped case bit changes nothing.
			}
			require.Error(t, err, "%s, byte %d", part.header.Name, at)
			require.True(t, strings.Contains(err.Error(), part.header.Name) || part.header.Name == partManifest && strings.Contains(err.Error(), "manifest") ||
				part.header.Name == partManifest && strings.Contains(err.Error(), "format"), "%s, byte %d: %v", part.header.Name, at, err)
		}
	}
}

// A forgery changes parts of a file and encrypts it again.
type forgery struct {
	change func(t *testing.T, parts []tarPart) []tarPart
	says   string
}

func requireRefused(t *testing.T, forgeries map[string]forgery) {
	plain := damagedWorld(t)
	for name, f := range forgeries {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, proveAll(writeParts(t, f.change(t, readParts(t, plain)))), f.says)
		})
	}
	require.NoError(t, proveAll(writeParts(t, forge(t, readParts(t, plain)))), "a forger who changes nothing is believed")
}

// changeManifest forges a manifest.
func changeManifest(change func(m *Manifest)) func(t *testing.T, parts []tarPart) []tarPart {
	return func(t *testing.T, parts []tarPart) []tarPart {
		var m Manifest
		require.NoError(t, json.Unmarshal(parts[0].data, &m))
		change(&m)
		data, err := json.Marshal(&m)
		require.NoError(t, err)
		parts[0].data = data
		return forge(t, parts)
	}
}

// changeEnd forges the end part, with its checksums of the other parts.
func changeEnd(change func(said *end)) func(t *testing.T, parts []tarPart) []tarPart {
	return func(t *testing.T, parts []tarPart) []tarPart {
		var e end
		last := &parts[len(parts)-1]
		require.NoError(t, json.Unmarshal(last.data, &e))
		change(&e)
		data, err := json.Marshal(&e)
		require.NoError(t, err)
		last.data = data
		return parts
	}
}

func TestAManifestOfAnotherStateIsRefused(t *testing.T) {
	requireRefused(t, map[string]forgery{
		"nothing":            {func(*testing.T, []tarPart) []tarPart { return nil }, "part manifest.json"},
		"no manifest":        {func(_ *testing.T, parts []tarPart) []tarPart { return parts[1:] }, "part manifest.json: it is not there"},
		"a newer format":     {changeManifest(func(m *Manifest) { m.Format++ }), "has format 4 and this release reads 3"},
		"an older format":    {changeManifest(func(m *Manifest) { m.Format-- }), "has format 2 and this release reads 3: restore it with the release that wrote it"},
		"another cluster":    {changeManifest(func(m *Manifest) { m.ClusterID = "c-other" }), "part state: cluster is c-test, and the manifest says c-other"},
		"another index":      {changeManifest(func(m *Manifest) { m.Index++ }), "part state: log index"},
		"another term":       {changeManifest(func(m *Manifest) { m.Term++ }), "part state: log term"},
		"another time":       {changeManifest(func(m *Manifest) { m.LogNanos++ }), "part state: log time"},
		"another digest":     {changeManifest(func(m *Manifest) { m.Digest = m.TreeHead }), "part state: state digest"},
		"another size":       {changeManifest(func(m *Manifest) { m.TreeSize-- }), "part state: number of leaves"},
		"another tree head":  {changeManifest(func(m *Manifest) { m.TreeHead = m.Digest }), "part state: tree head"},
		"another retention":  {changeManifest(func(m *Manifest) { m.Oldest++ }), "part state: oldest leaf"},
		"another key set":    {changeManifest(func(m *Manifest) { m.JWKS = m.Digest }), "part state: key set"},
		"another lineage":    {changeManifest(func(m *Manifest) { m.Lineage = "x" }), "part state: lineage"},
		"another epoch":      {changeManifest(func(m *Manifest) { m.Epoch++ }), "part state: epoch"},
		"another list":       {changeManifest(func(m *Manifest) { m.List = "" }), "part state: list"},
		"another count":      {changeManifest(func(m *Manifest) { m.Counts.APIKeys++ }), "part state: counts"},
		"a frontier of none": {changeManifest(func(m *Manifest) { m.Frontier = []string{strings.Repeat("00", 32)} }), "history before leaf 0"},
		"a frontier of text": {changeManifest(func(m *Manifest) { m.Frontier = []string{"zz"} }), "frontier is none"},
		"a frontier cut":     {changeManifest(func(m *Manifest) { m.Frontier = []string{"00"} }), "frontier is none"},
	})
}

func TestPartsOutOfTheirPlaceAreRefused(t *testing.T) {
	requireRefused(t, map[string]forgery{
		"the state twice": {func(t *testing.T, parts []tarPart) []tarPart {
			return forge(t, slices.Insert(parts, 2, parts[1]))
		}, "part state: it is there twice"},
		"the state last": {func(t *testing.T, parts []tarPart) []tarPart {
			parts[1], parts[2] = parts[2], parts[1]
			return forge(t, parts)
		}, "it is not in its place"},
		"a list before history": {func(t *testing.T, parts []tarPart) []tarPart {
			list := indexOf(t, parts, partLists)
			parts[2], parts[list] = parts[list], parts[2]
			return forge(t, parts)
		}, "it is not in its place"},
		"no history": {func(t *testing.T, parts []tarPart) []tarPart {
			return forge(t, slices.Delete(parts, 2, 3))
		}, "history has 0 leaves"},
		"history without its first byte": {func(t *testing.T, parts []tarPart) []tarPart {
			parts[2].data = parts[2].data[1:]
			return forge(t, parts)
		}, "part history/"},
		"history of another name": {func(t *testing.T, parts []tarPart) []tarPart {
			parts[2].header.Name = historyPart(0, 7)
			return forge(t, parts)
		}, "its name is not that of its leaves"},
		"a length that does not end": {func(t *testing.T, parts []tarPart) []tarPart {
			parts[2].data = append(bytes.Clone(parts[2].data), 0x80)
			return forge(t, parts)
		}, "a bundle is cut, or one too many"},
		"a length of no end in the middle": {func(t *testing.T, parts []tarPart) []tarPart {
			parts[2].data = bytes.Repeat([]byte{0xff}, 12)
			return forge(t, parts)
		}, "a bundle is cut, or one too many"},
		"an empty bundle behind history": {func(t *testing.T, parts []tarPart) []tarPart {
			parts[2].data = append(bytes.Clone(parts[2].data), 0)
			return forge(t, parts)
		}, "a bundle is cut, or one too many"},
		"history goes on": {func(t *testing.T, parts []tarPart) []tarPart {
			parts[2].data = append(bytes.Clone(parts[2].data), parts[2].data...)
			return forge(t, parts)
		}, "part history/"},
	})
}

func TestListsAndEndsThatDoNotBelongAreRefused(t *testing.T) {
	requireRefused(t, map[string]forgery{
		"a list of another content": {func(t *testing.T, parts []tarPart) []tarPart {
			list := indexOf(t, parts, partLists)
			parts[list].data = []byte("nobody is on it")
			return forge(t, parts)
		}, "its content is not that of its name"},
		"a list is missing": {func(t *testing.T, parts []tarPart) []tarPart {
			list := indexOf(t, parts, partLists)
			return slices.Delete(parts, list, list+1)
		}, "is not the one that was written, or is missing"},
		"a list nobody wrote": {func(_ *testing.T, parts []tarPart) []tarPart {
			data := []byte("added")
			sum := sha256.Sum256(data)
			added := tarPart{header: parts[1].header, data: data}
			added.header.Name = partLists + hex.EncodeToString(sum[:]) + listSuffix
			return slices.Insert(parts, len(parts)-1, added)
		}, "there are parts that were never written"},
		"a part of a newer binary": {func(t *testing.T, parts []tarPart) []tarPart {
			added := tarPart{header: parts[1].header}
			added.header.Name = "keys"
			return forge(t, slices.Insert(parts, len(parts)-1, added))
		}, "part keys: it is none that this binary knows"},
		"a link": {func(_ *testing.T, parts []tarPart) []tarPart {
			parts[2].header.Typeflag, parts[2].header.Linkname, parts[2].data = tar.TypeSymlink, "/etc/passwd", nil
			return parts
		}, "or it is no file"},
		"one part too few said":  {changeEnd(func(e *end) { e.Parts-- }), "never written"},
		"one part too many said": {changeEnd(func(e *end) { e.Parts++ }), "never written"},
		"an end that is no end": {func(_ *testing.T, parts []tarPart) []tarPart {
			parts[len(parts)-1].data = []byte("{")
			return parts
		}, "part end.json"},
		"no end":           {func(_ *testing.T, parts []tarPart) []tarPart { return parts[:len(parts)-1] }, "is damaged or missing"},
		"something behind": {func(_ *testing.T, parts []tarPart) []tarPart { return append(parts, parts[1]) }, "behind part end.json"},
	})
}

func TestPartsHaveBounds(t *testing.T) {
	for size, good := range map[int64]bool{0: true, 7: true, 8: false, -1: false} {
		_, err := readPart(strings.NewReader(""), &tar.Header{Typeflag: tar.TypeReg, Size: size}, 7)
		require.Equal(t, good, err == nil, size)
	}
	_, err := readPart(strings.NewReader(""), &tar.Header{Typeflag: tar.TypeDir}, 7)
	require.Error(t, err)
	require.ErrorContains(t, describeCut(io.ErrUnexpectedEOF), "ends before its end")
	require.ErrorContains(t, describeCut(errors.New("other")), "other")
}

// In a full backup a leaf within its retention always has its text.
func TestALeafWithoutItsText(t *testing.T) {
	w := newWorld(t, "c-test")
	w.notes(10)
	parts := readParts(t, w.plain(0))
	leaves, err := w.history.Bundle(0, int(w.machine.Freeze().Size))
	require.NoError(t, err)
	hash := new(merkle.Hasher).Leaf(leaves[0].Data)
	leaves[0] = audit.Leaf{Time: leaves[0].Time, Hash: hash, Erased: true}
	bundle, err := audit.AppendBundle(nil, leaves)
	require.NoError(t, err)
	var length []byte
	for n := uint64(len(bundle)); ; n >>= 7 {
		if n < 0x80 {
			length = append(length, byte(n))
			break
		}
		length = append(length, byte(n)|0x80)
	}
	parts[2].data = append(length, bundle...)
	require.ErrorContains(t, proveAll(writeParts(t, forge(t, parts))), "leaf 0 has no content and is not past its retention")
}

func TestKeys(t *testing.T) {
	good := keyPair(t)
	for name, c := range map[string]struct {
		keys Keys
		says string
	}{
		"a recipient":                {Keys{Recipients: good.Recipients}, ""},
		"the shortest passphrase":    {Keys{Passphrase: strings.Repeat("p", PassphraseMin)}, ""},
		"a byte less":                {Keys{Passphrase: strings.Repeat("p", PassphraseMin-1)}, "fewer than 16 are guessed"},
		"neither":                    {Keys{}, "always encrypted"},
		"both":                       {Keys{Recipients: good.Recipients, Passphrase: strings.Repeat("p", PassphraseMin)}, "not both"},
		"a recipient that is none":   {Keys{Recipients: []string{"age1nobody"}}, "backup: recipient"},
		"a private key in its place": {Keys{Recipients: []string{strings.Split(string(good.Identities), "\n")[1]}}, "backup: recipient"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.keys.Check()
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestAFileIsOpenedByItsKeyAlone(t *testing.T) {
	w := newWorld(t, "c-test")
	keys := keyPair(t)
	plain := w.plain(0)
	path := sealed(t, keys, plain)
	_, err := Verify(path, keys)
	require.NoError(t, err)
	_, err = Verify(path, keyPair(t))
	require.ErrorIs(t, err, ErrKey)
	require.ErrorContains(t, err, "made by hand: ", "the file is named")
	_, err = Inspect(path, keyPair(t))
	require.ErrorIs(t, err, ErrKey)
	_, err = Verify(path, &Keys{Identities: []byte("no identity")})
	require.ErrorContains(t, err, "backup: identity")
	_, err = Verify(path+".gone", keys)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Restore([]string{path}, keyPair(t), w.order())
	require.ErrorIs(t, err, ErrKey)

	several := &Keys{Identities: append(bytes.Clone(keyPair(t).Identities), keys.Identities...)}
	_, err = Verify(path, several)
	require.NoError(t, err, "one of several identities is enough")

	// This recipient takes a passphrase with less work than Create does, so that the test is
	// quick.
	recipient, err := age.NewScryptRecipient("correct horse battery")
	require.NoError(t, err)
	recipient.SetWorkFactor(4)
	file, err := os.Create(path)
	require.NoError(t, err)
	to, err := age.Encrypt(file, recipient)
	require.NoError(t, err)
	_, err = to.Write(plain)
	require.NoError(t, err)
	require.NoError(t, errors.Join(to.Close(), file.Close()))
	_, err = Verify(path, &Keys{Passphrase: "correct horse battery"})
	require.NoError(t, err)
	_, err = Verify(path, &Keys{Passphrase: "correct horse batterz"})
	require.ErrorIs(t, err, ErrKey)
}

func TestADamagedFileIsNamed(t *testing.T) {
	w := newWorld(t, "c-test")
	keys := keyPair(t)
	path, _ := w.save(keys, 0)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	for name, spoilt := range map[string][]byte{
		"empty":                 nil,
		"its first byte":        append([]byte{content[0] ^ 1}, content[1:]...),
		"cut in the header":     content[:40],
		"cut in the content":    content[:len(content)/2],
		"cut at its last byte":  content[:len(content)-1],
		"a byte in the content": slices.Concat(content[:len(content)/2], []byte{content[len(content)/2] ^ 1}, content[len(content)/2+1:]),
		"a byte behind":         append(bytes.Clone(content), 0),
	} {
		t.Run(name, func(t *testing.T) {
			damaged := filepath.Join(t.TempDir(), "damaged")
			require.NoError(t, os.WriteFile(damaged, spoilt, 0o600))
			_, err := Verify(damaged, keys)
			require.ErrorContains(t, err, "damaged: ")
			require.NotErrorIs(t, err, ErrKey)
			order := w.order()
			_, err = Restore([]string{damaged}, keys, order)
			require.Error(t, err)
			require.NoFileExists(t, filepath.Join(order.Dir, datadir.IdentityFile))
		})
	}
}

// A file gets its name only when it is whole and every function of agree has agreed; it
// replaces none.
func TestCreateLeavesNothingUnended(t *testing.T) {
	w := newWorld(t, "c-test")
	keys := keyPair(t)
	plain := w.plain(0)
	dir := t.TempDir()
	path := filepath.Join(dir, "backup")
	none := errors.New("not this one")
	for name, c := range map[string]struct {
		keys  *Keys
		plain io.Reader
		agree []func(*Report) error
		says  string
	}{
		"no key":          {&Keys{}, bytes.NewReader(plain), nil, "always encrypted"},
		"parts that end":  {keys, bytes.NewReader(plain[:len(plain)/2]), nil, "ends before its end"},
		"a broken stream": {keys, io.MultiReader(bytes.NewReader(plain[:len(plain)/2]), brokenReader{}), nil, "the line is cut"},
		"nobody agrees":   {keys, bytes.NewReader(plain), []func(*Report) error{func(*Report) error { return nil }, func(*Report) error { return none }}, none.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Create(path, c.keys, c.plain, c.agree...)
			require.ErrorContains(t, err, c.says)
			require.Empty(t, files(t, dir))
		})
	}
	_, err := Create(filepath.Join(dir, "nowhere", "backup"), keys, bytes.NewReader(plain))
	require.ErrorIs(t, err, os.ErrNotExist)
	var agreed *Report
	report, err := Create(path, keys, bytes.NewReader(plain), func(r *Report) error {
		agreed = r
		require.NoFileExists(t, path, "it has no name yet")
		return nil
	})
	require.NoError(t, err)
	require.Same(t, agreed, report)
	require.Equal(t, []string{"backup"}, files(t, dir))
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	_, err = Create(path, keys, bytes.NewReader(plain))
	require.ErrorContains(t, err, "exists already")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("the line is cut") }
