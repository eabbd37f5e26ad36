package chaos

import (
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"railguard/ofac/listtest"
)

// listPair is a list and its successor, and what is known about both from other sources than the
// service.
type listPair struct {
	old, next listFile
	probes    []probe
	removed   []string // Wallets that only the first list has, canonical and sorted.
	added     []string // Wallets that only the successor has.
	entries   deltaCounts
	force     bool // The lists fail the checks before an activation, so it must be forced.
}

// listFile is a file to upload.
type listFile struct {
	name string
	raw  []byte
}

// deltaCounts has the counts that a comparison of the two lists must find.
type deltaCounts struct{ added, removed, changed, walletsAdded, walletsRemoved int }

// probe is one counterparty to screen: a wallet, or a name with the list entry that it belongs
// to.
type probe struct {
	wallet    string
	name, uid string
	old, next bool // Whether the old list and the next list have the counterparty.
}

func (p *probe) member() string {
	if p.wallet != "" {
		return "cpWallet"
	}
	return "cpName"
}

func (p *probe) text() string { return p.wallet + p.name }

func (p *probe) listed(pair *listPair, file *listFile) bool {
	if file == &pair.next {
		return p.next
	}
	return p.old
}

// canonicalWallet returns the form in which two spellings of one wallet are equal.
func canonicalWallet(address string) string {
	if strings.HasPrefix(strings.ToLower(address), "0x") {
		return strings.ToLower(address)
	}
	return address
}

// wallets makes a probe for every wallet of the two lists, and fills removed and added.
func (p *listPair) wallets(old, next []string) {
	had, has := setOf(old), setOf(next)
	for _, address := range append(slices.Clone(old), next...) {
		name := canonicalWallet(address)
		if slices.ContainsFunc(p.probes, func(q probe) bool { return q.wallet != "" && canonicalWallet(q.wallet) == name }) {
			continue
		}
		p.probes = append(p.probes, probe{wallet: address, old: had[name], next: has[name]})
		switch {
		case had[name] && !has[name]:
			p.removed = append(p.removed, name)
		case has[name] && !had[name]:
			p.added = append(p.added, name)
		}
	}
	slices.Sort(p.removed)
	slices.Sort(p.added)
}

func setOf(addresses []string) map[string]bool {
	set := make(map[string]bool, len(addresses))
	for _, address := range addresses {
		set[canonicalWallet(address)] = true
	}
	return set
}

// strangers are wallets and names on neither list.
func (p *listPair) strangers() {
	const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	for i := range 24 {
		raw := randomHex(33)
		p.probes = append(p.probes, probe{wallet: "0x" + raw[:40]})
		legacy := []byte(raw[:34])
		for j := range legacy {
			legacy[j] = base58[(int(legacy[j])*7+i+j)%len(base58)]
		}
		legacy[0] = "13T"[i%3]
		p.probes = append(p.probes, probe{wallet: string(legacy)})
	}
	for _, name := range []string{
		"Maple Orchard Bakery Cooperative", "Thistledown Lighthouse Pottery", "Wren Hollow Stationers",
		"Penelope Ashgrove-Whitcombe", "Bartholomew Quillfeather", "Bluebell Meadow Dairy Farm",
	} {
		p.probes = append(p.probes, probe{name: name})
	}
}

// ownPair makes a pair of lists. Entries stay, go or come; some lose a wallet, and some pass a
// wallet on to another entry. The lists are so large that staging one takes several chunks.
func ownPair() (*listPair, error) {
	const filling = 1500
	p := &listPair{force: true}
	wallet := func() string { return "0x" + randomHex(20) }
	stays, goes, comes, lost, handed := wallet(), wallet(), wallet(), wallet(), wallet()
	entry := func(id int, last string, wallets map[string]string) listtest.Entity {
		return listtest.Entity{ID: id, Last: last, Wallets: wallets}
	}
	common := []listtest.Entity{entry(920001, "QUARTZMIRROR WORKS", map[string]string{"ETH": stays})}
	for i := range filling {
		common = append(common, entry(921000+i, fmt.Sprintf("ZEPHYRINE %s FILLING %s", randomHex(4), randomHex(5)), nil))
	}
	old := append(slices.Clone(common),
		entry(920002, "VELVETANVIL FOUNDRY", map[string]string{"ETH": goes}),
		entry(920003, "COPPERLANTERN EXCHANGE", map[string]string{"ETH": lost}),
		entry(920004, "MARBLEFALCON CARRIERS", map[string]string{"USDT": handed}))
	next := append(slices.Clone(common),
		entry(920003, "COPPERLANTERN EXCHANGE", nil),
		entry(920004, "MARBLEFALCON CARRIERS", nil),
		entry(920005, "GRANITEOTTER CONSORTIUM", map[string]string{"ETH": comes, "USDC": handed}))
	p.wallets([]string{stays, goes, lost, handed}, []string{stays, comes, handed})
	p.probes = append(p.probes,
		probe{name: "Quartzmirror Works", uid: "920001", old: true, next: true},
		probe{name: "Velvetanvil Foundry", uid: "920002", old: true},
		probe{name: "Copperlantern Exchange", uid: "920003", old: true, next: true},
		probe{name: "Graniteotter Consortium", uid: "920005", next: true})
	p.strangers()
	p.entries = deltaCounts{added: 1, removed: 1, changed: 2, walletsAdded: 2, walletsRemoved: 3}
	now := time.Now()
	for _, side := range []struct {
		file     *listFile
		asOf     time.Time
		entities []listtest.Entity
	}{{&p.old, now.Add(-24 * time.Hour), old}, {&p.next, now, next}} {
		raw, err := packLists(side.asOf, side.entities)
		if err != nil {
			return nil, err
		}
		*side.file = listFile{"lists.zip", raw}
	}
	return p, nil
}

// packLists returns an archive with a hand-made SDN list and a CONS list of one entry.
func packLists(asOf time.Time, entities []listtest.Entity) ([]byte, error) {
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	for _, member := range []struct {
		name string
		raw  []byte
	}{
		{"SDN_ENHANCED.XML", listtest.WriteEnhanced("SDN List", asOf, entities...)},
		{"CONS_ENHANCED.XML", listtest.WriteEnhanced("Consolidated List", asOf, listtest.Entity{ID: 930001, Last: "CHAOS PASSERBY HOLDING"})},
	} {
		part, err := archive.Create(member.name)
		if err != nil {
			return nil, err
		}
		if _, err := part.Write(member.raw); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return packed.Bytes(), err
}

// The pair of published lists that spans the removal of 90 addresses.
const (
	publishedOld  = "2025-03-04"
	publishedNext = "2025-03-21"
)

// publishedPair reads the real lists and the golden files beside them. Neither are part of the
// repository.
func publishedPair() (*listPair, error) {
	folder, err := listData()
	if err != nil {
		return nil, err
	}
	p := &listPair{force: true} // The delisting of 2025-03-21 removes more than a fifth of the EVM accounts.
	var wallets [2][]string
	var names [2]map[string]string // By entry: the primary name, for entries with wallets.
	for i, date := range []string{publishedOld, publishedNext} {
		rows, err := goldenRows(folder, "sdn_"+date+"_addresses.tsv")
		if err != nil {
			return nil, err
		}
		names[i] = make(map[string]string)
		for _, row := range rows {
			wallets[i] = append(wallets[i], row[2])
			names[i][row[0]] = row[4]
		}
		raw, err := os.ReadFile(filepath.Join(folder, date, "sdn_advanced.xml.bz2"))
		if err != nil {
			return nil, err
		}
		*[]*listFile{&p.old, &p.next}[i] = listFile{"sdn_advanced.xml.bz2", raw}
	}
	p.wallets(wallets[0], wallets[1])
	rows, err := goldenRows(folder, "delta_"+publishedOld+"_to_"+publishedNext+".tsv")
	if err != nil {
		return nil, err
	}
	if err := p.goldenDelta(rows); err != nil {
		return nil, err
	}
	for uid, name := range names[0] {
		if names[1][uid] == name {
			p.probes = append(p.probes, probe{name: name, uid: uid, old: true, next: true})
		}
	}
	p.strangers()
	return p, nil
}

// goldenDelta adds the names that come and go, and what a comparison must count. The wallets that
// go must be those by which the golden lists differ.
func (p *listPair) goldenDelta(rows [][]string) error {
	gone := make(map[string]bool)
	for _, row := range rows {
		switch row[0] {
		case "entity_added":
			p.entries.added++
			p.probes = append(p.probes, probe{name: row[2], uid: row[1], next: true})
		case "entity_removed":
			p.entries.removed++
			p.probes = append(p.probes, probe{name: row[2], uid: row[1], old: true})
		case "entity_changed":
			p.entries.changed++
		case "address_added":
			p.entries.walletsAdded++
		case "address_removed":
			p.entries.walletsRemoved++
			_, address, _ := strings.Cut(row[2], " ") // The address follows the ticker.
			gone[canonicalWallet(address)] = true
		}
	}
	for _, wallet := range p.removed {
		if !gone[wallet] {
			return fmt.Errorf("the golden files disagree on wallet %s", wallet)
		}
	}
	if len(gone) != len(p.removed) {
		return fmt.Errorf("the golden delta removes %d wallets, the golden lists differ by %d", len(gone), len(p.removed))
	}
	return nil
}

// listData finds the folder of real list files: RAILGUARD_DATA, else shared/data
// beside a parent of this folder.
func listData() (string, error) {
	if folder := os.Getenv("RAILGUARD_DATA"); folder != "" {
		return filepath.Join(folder, "ofac"), nil
	}
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		found := filepath.Join(folder, "shared", "data", "ofac")
		if _, err := os.Stat(found); err == nil {
			return found, nil
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return "", skipped("no real list files: set RAILGUARD_DATA to the folder that holds ofac/")
		}
		folder = parent
	}
}

// goldenRows reads a tab-separated golden file without its header row.
func goldenRows(folder, name string) ([][]string, error) {
	raw, err := os.ReadFile(filepath.Join(folder, "golden", name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, skipped("no golden file " + name)
	}
	if err != nil {
		return nil, err
	}
	var rows [][]string
	lines := bufio.NewScanner(bytes.NewReader(raw))
	for lines.Scan() {
		rows = append(rows, strings.Split(lines.Text(), "\t"))
	}
	if len(rows) < 2 {
		return nil, fmt.Errorf("golden file %s is empty", name)
	}
	return rows[1:], lines.Err()
}
