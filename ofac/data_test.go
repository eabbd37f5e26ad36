package ofac

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// dataFolder finds the labelled data: RAILGUARD_DATA, else shared/data beside a
// parent of the package. The test is skipped if there is none.
func dataFolder(t testing.TB) string {
	if dir := os.Getenv("RAILGUARD_DATA"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		candidate := filepath.Join(dir, "shared", "data")
		if info, err := os.Stat(candidate); err == nil && info.IsDir() {
			return candidate
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Skip("no list data: set RAILGUARD_DATA to the folder that holds names/ and ofac/")
		}
		dir = parent
	}
}

// readRows reads a TSV table without its header.
func readRows(t testing.TB, path string) [][]string {
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		t.Skip("absent: ", path)
	}
	require.NoError(t, err)
	defer file.Close()
	var reader io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		reader, err = gzip.NewReader(file)
		require.NoError(t, err)
	}
	var rows [][]string
	lines := bufio.NewScanner(reader)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		rows = append(rows, strings.Split(lines.Text(), "\t"))
	}
	require.NoError(t, lines.Err())
	return rows[1:]
}

// realEntities reads the names and addresses of one golden date of the SDN.
func realEntities(t testing.TB, date string) []Entity {
	golden := filepath.Join(dataFolder(t), "ofac", "golden")
	at := map[uint32]int{}
	var list []Entity
	for _, f := range readRows(t, filepath.Join(golden, "sdn_"+date+"_names.tsv.gz")) {
		uid := parseUID(t, f[0])
		i, ok := at[uid]
		if !ok {
			i = len(list)
			at[uid] = i
			list = append(list, Entity{UID: uid, Type: typeNamed(f[1]), Lists: ListSDN, Sublists: []string{"SDN List"}})
		}
		list[i].Names = append(list[i].Names, Name{
			ID: parseUID(t, f[2]), AliasType: f[3], Primary: f[4] == "1", Weak: f[5] == "1", Script: f[6], Full: f[7],
		})
	}
	for _, f := range readRows(t, filepath.Join(golden, "sdn_"+date+"_addresses.tsv")) {
		i := at[parseUID(t, f[0])]
		list[i].Addresses = append(list[i].Addresses, Address{Ticker: f[1], Value: f[2], FeatureID: parseUID(t, f[3])})
	}
	return list
}

func parseUID(t testing.TB, field string) uint32 {
	value, err := strconv.ParseUint(field, 10, 32)
	require.NoError(t, err)
	return uint32(value)
}

func typeNamed(word string) EntityType {
	for _, kind := range []EntityType{Individual, Vessel, Aircraft} {
		if kind.String() == word {
			return kind
		}
	}
	return Company
}

// realLists are the golden dates that a test has compiled. Nothing changes a list.
var realLists sync.Map

// realList is one golden date, compiled once for all tests.
func realList(t testing.TB, date string) *Index {
	if list, ok := realLists.Load(date); ok {
		return list.(*Index)
	}
	list := mustBuild(t, realEntities(t, date))
	realLists.Store(date, list)
	return list
}

func mustBuild(t testing.TB, entities []Entity) *Index {
	list, err := Build(entities, Meta{Source: "test", PublishedAt: 1})
	require.NoError(t, err)
	return list
}

// fingerprint is a digest of all tables of a list: lists of one fingerprint answer alike.
func fingerprint(t testing.TB, x *Index) string {
	l, sum := &x.words, sha256.New()
	for _, table := range []any{
		x.digest, x.matcher, []byte(x.text), x.textOffsets, x.entities, x.references, x.names, x.parts, x.addresses, x.facts,
		l.records, l.letters, l.ids, l.neighbourOffsets, l.neighbourRows, l.deletionOffsets, l.deletionRows,
		l.postingOffsets, l.postings, l.tokenOffsets, l.tokens, l.holders, l.begins, l.remainders, x.beginnings,
	} {
		require.NoError(t, binary.Write(sum, binary.LittleEndian, table))
	}
	fmt.Fprint(sum, x.wallets, x.forms, l.hash)
	return hex.EncodeToString(sum.Sum(nil))
}

// named makes an entity with strong names, the first of them primary.
func named(uid uint32, kind EntityType, lists Lists, names ...string) Entity {
	entity := Entity{UID: uid, Type: kind, Lists: lists}
	for i, name := range names {
		entity.Names = append(entity.Names, Name{ID: uid*100 + uint32(i), Primary: i == 0, Script: "Latin", Full: name})
	}
	return entity
}

// weak adds a weak alias.
func weak(entity Entity, name string) Entity {
	entity.Names = append(entity.Names, Name{ID: entity.UID*100 + 99, Weak: true, AliasType: "A.K.A.", Script: "Latin", Full: name})
	return entity
}

func shuffled[T any](list []T, seed uint64) []T {
	list = slices.Clone(list)
	random := rand.New(rand.NewPCG(seed, 1))
	random.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	return list
}
