package listtest

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"railguard/ofac/list"
)

func mustNot(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// DataFolder finds the labelled data: RAILGUARD_DATA, or else shared/data beside a parent
// of the package. It skips the test if there is none.
func DataFolder(t testing.TB) string {
	if dir := os.Getenv("RAILGUARD_DATA"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	mustNot(t, err)
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

// ReadRows reads a TSV table without its header.
func ReadRows(t testing.TB, path string) [][]string {
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		t.Skip("absent: ", path)
	}
	mustNot(t, err)
	defer file.Close()
	var reader io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		reader, err = gzip.NewReader(file)
		mustNot(t, err)
	}
	var rows [][]string
	lines := bufio.NewScanner(reader)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		rows = append(rows, strings.Split(lines.Text(), "\t"))
	}
	mustNot(t, lines.Err())
	return rows[1:]
}

// RealEntities reads the names and addresses of the SDN list of one golden date.
func RealEntities(t testing.TB, date string) []list.Entity {
	golden := filepath.Join(DataFolder(t), "ofac", "golden")
	at := map[uint32]int{}
	var items []list.Entity
	for _, f := range ReadRows(t, filepath.Join(golden, "sdn_"+date+"_names.tsv.gz")) {
		uid := ParseUID(t, f[0])
		i, ok := at[uid]
		if !ok {
			i = len(items)
			at[uid] = i
			items = append(items, list.Entity{UID: uid, Type: typeNamed(f[1]), Lists: list.ListSDN, Sublists: []string{"SDN List"}})
		}
		items[i].Names = append(items[i].Names, list.Name{
			ID: ParseUID(t, f[2]), AliasType: f[3], Primary: f[4] == "1", Weak: f[5] == "1", Script: f[6], Full: f[7],
		})
	}
	for _, f := range ReadRows(t, filepath.Join(golden, "sdn_"+date+"_addresses.tsv")) {
		i := at[ParseUID(t, f[0])]
		items[i].Addresses = append(items[i].Addresses, list.Address{Ticker: f[1], Value: f[2], FeatureID: ParseUID(t, f[3])})
	}
	return items
}

func ParseUID(t testing.TB, field string) uint32 {
	value, err := strconv.ParseUint(field, 10, 32)
	mustNot(t, err)
	return uint32(value)
}

func typeNamed(word string) list.EntityType {
	for _, kind := range []list.EntityType{list.Individual, list.Vessel, list.Aircraft} {
		if kind.String() == word {
			return kind
		}
	}
	return list.Company
}

// Named makes an entity with strong names, the first of them primary.
func Named(uid uint32, kind list.EntityType, lists list.Lists, names ...string) list.Entity {
	entity := list.Entity{UID: uid, Type: kind, Lists: lists}
	for i, name := range names {
		entity.Names = append(entity.Names, list.Name{ID: uid*100 + uint32(i), Primary: i == 0, Script: "Latin", Full: name})
	}
	return entity
}

// Weak adds a weak alias.
func Weak(entity list.Entity, name string) list.Entity {
	entity.Names = append(entity.Names, list.Name{ID: entity.UID*100 + 99, Weak: true, AliasType: "A.K.A.", Script: "Latin", Full: name})
	return entity
}

func Shuffled[T any](list []T, seed uint64) []T {
	list = slices.Clone(list)
	random := rand.New(rand.NewPCG(seed, 1))
	random.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	return list
}

// NumberedEntities returns made-up parties with hundreds of words close to one another. The
// load suites use this list, which is harder to compile than OFAC's.
func NumberedEntities(parties int) []list.Entity {
	entities := make([]list.Entity, 0, parties)
	for i := range parties {
		entities = append(entities, Named(uint32(800_000+i), list.Company, list.ListSDN,
			fmt.Sprintf("QUOR%dVEN ZARB%dAL HOLDING", i*7919%parties, i), fmt.Sprintf("VELD%dAN TRADE", i)))
	}
	return entities
}

func SmallList() []list.Entity {
	first := Named(7, list.Individual, list.ListSDN, "MADURO MOROS, Nicolas", "MADURO, Nicolas")
	first.Programs = []string{"VENEZUELA", "CYBER2"}
	first.Names[1].Parts = []list.NamePart{{Kind: "Last Name", Value: "MADURO"}, {Kind: "First Name", Value: "Nicolas"}}
	second := Weak(Named(8, list.Company, list.ListSDN|list.ListCONS, "LAZARUS GROUP", "HIDDEN COBRA", "라자루스"), "ZINC")
	second.Sublists = []string{"SDN List"}
	second.Addresses = []list.Address{{Ticker: "ETH", Value: "0x098B716B8Aaf21512996dC57EB0615e2383E2f96", FeatureID: 5}, {Ticker: "XBT", Value: "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", FeatureID: 6}}
	return []list.Entity{first, second, Named(9, list.Vessel, list.ListSDN, "DOVER"), Named(10, list.Aircraft, list.ListSDN, "YV2030")}
}

// MadeEntities returns parties whose names are drawn from few words, so that many are close
// to one another, and the same names as a payment writes them.
func MadeEntities(random *rand.Rand, count int) (entities []list.Entity, names []string) {
	given := strings.Fields("MOHAMMED AHMED ALI YOUSEF IVAN SERGEI OLEKSANDR MARIA JUAN CARLOS HASSAN OMAR WEI XIAOMING JONG UN")
	last := strings.Fields("IVANOV PETROV KHAN HUSSEIN GARCIA LOPEZ RODRIGUEZ KIM ZHANG CHANG ABDULLAH RAHMAN SMIRNOV VOLKOV HADDAD")
	trade := strings.Fields("GENERAL TRADING SHIPPING NATIONAL BANK STEEL OIL ORIENT STAR GULF NORTH CASPIAN ELECTRONICS HOLDING")
	forms := []string{"", " LLC", " CO., LTD.", " GMBH", " JSC", " S.A."}
	pick := func(words []string) string { return words[random.IntN(len(words))] }
	for i := range count {
		entity := list.Entity{UID: uint32(i + 1), Type: list.Company, Lists: list.ListSDN}
		full := pick(trade) + " " + pick(trade) + " " + pick(last) + forms[random.IntN(len(forms))]
		plain := full
		if i%2 == 0 {
			entity.Type = list.Individual
			full = pick(last) + ", " + pick(given)
			if random.IntN(2) == 0 {
				full += " " + pick(given)
			}
			family, first, _ := strings.Cut(full, ", ")
			plain = first + " " + family
		}
		entity.Names = []list.Name{{ID: uint32(i + 1), Primary: true, Script: "Latin", Full: full}}
		entities, names = append(entities, entity), append(names, strings.TrimSpace(plain))
	}
	return entities, names
}
