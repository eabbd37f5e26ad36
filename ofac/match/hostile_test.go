package match

import (
	"cmp"
	"flag"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/ofac/listtest"
	"railguard/ofac/wallet"
)

var hostileSeed = flag.Uint64("hostile", 0, "seed of TestHostileDisguises; 0: another each run")

// The generator makes hostileCount disguises, of which hostilePerMille per thousand may
// pass. About nine per thousand do, so chance fails the test less than once in 10^9 runs.
const (
	hostileCount    = 5000
	hostilePerMille = 20
)

// hostileMore are disguises that also mislead a reader: another language, another order,
// more words.
var hostileMore = map[string]func(name string, random *rand.Rand) string{
	"another order": func(name string, random *rand.Rand) string {
		words := strings.Fields(name)
		random.Shuffle(len(words), func(i, k int) { words[i], words[k] = words[k], words[i] })
		return strings.Join(words, " ")
	},
	"in Cyrillic": func(name string, _ *rand.Rand) string { return cyrillic.Replace(strings.ToUpper(name)) },
	"as a handle": func(name string, _ *rand.Rand) string {
		return strings.Join(strings.Fields(strings.ToLower(name)), "_")
	},
	"as an address": func(name string, _ *rand.Rand) string {
		return strings.Join(strings.Fields(strings.ToLower(name)), ".")
	},
	"any case": func(name string, random *rand.Rand) string {
		return eachLetter(name, func(r rune) string {
			if random.IntN(2) == 0 {
				return strings.ToLower(string(r))
			}
			return string(r)
		})
	},
	"suffix": func(name string, random *rand.Rand) string {
		return name + " " + []string{"JR", "DUBAI", "LONDON BRANCH", "ACCOUNT 48291", "HK", "(MOSCOW)", "INV 2024/117", "ESQ"}[random.IntN(8)]
	},
	"prefix": func(name string, random *rand.Rand) string {
		return []string{"ATTN", "C/O", "PAYEE:", "MR", "ACCOUNT OF", "FBO", "TO THE ORDER OF", "IBAN 123"}[random.IntN(8)] + " " + name
	},
	"two names": func(name string, random *rand.Rand) string {
		return "Oliver Bennett " + []string{"OR", "AND", "/", "&", ",", "+"}[random.IntN(6)] + " " + name
	},
	"prose before": func(name string, _ *rand.Rand) string {
		return strings.Repeat("please pay what was agreed upon last week to the one we named, ", 5) + name
	},
	"a slip": func(name string, random *rand.Rand) string {
		words := strings.Fields(name)
		longest := slices.MaxFunc(words, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
		at := 1 + random.IntN(len(longest)-2)
		return strings.Replace(name, longest, longest[:at]+longest[at+1:], 1)
	},
}

// cyrillic writes Latin letters as Russian writes foreign names.
var cyrillic = strings.NewReplacer("SHCH", "Щ", "ZH", "Ж", "KH", "Х", "TS", "Ц", "CH", "Ч", "SH", "Ш", "YU", "Ю", "YA", "Я", "YO", "Ё", "A", "А", "B", "Б", "V", "В",
	"G", "Г", "D", "Д", "E", "Е", "Z", "З", "I", "И", "Y", "Й", "K", "К", "L", "Л", "M", "М", "N", "Н", "O", "О", "P", "П", "R", "Р", "S", "С", "T", "Т", "U", "У",
	"F", "Ф", "H", "Х", "C", "К", "J", "Ж", "Q", "К", "W", "В", "X", "КС")

// At most two in a hundred of thousands of random hostile disguises of listed names and
// wallets stay unflagged. docs/matching.md says which and why.
func TestHostileDisguises(t *testing.T) {
	t.Parallel()
	seed := *hostileSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d: go test ./ofac -run TestHostileDisguises -hostile %d", seed, seed)
	random := rand.New(rand.NewPCG(seed, 1))
	list, scratch := realList(t, "2025-11-19"), NewScratch()
	_, names := plainNames(list, 4000)
	var wallets []string
	for _, f := range listtest.ReadRows(t, filepath.Join(listtest.DataFolder(t), "ofac", "golden", "sdn_2025-11-19_addresses.tsv")) {
		wallets = append(wallets, f[2])
	}
	all := maps.Clone(disguises)
	maps.Copy(all, hostileMore)
	kinds := slices.Sorted(maps.Keys(all))
	missed, total := map[string]int{}, 0
	for i := range hostileCount {
		if i%4 == 0 {
			address := wallets[random.IntN(len(wallets))]
			spellings := unseenOf(spellingsOf(nil, address), address)
			text := strings.ReplaceAll(walletOrnaments[random.IntN(len(walletOrnaments))], "$", spellings[random.IntN(len(spellings))])
			if _, ok := list.Wallet(text); !ok && len(text) <= wallet.TextMax {
				missed["wallet "+text]++
				total++
			}
			continue
		}
		kind := kinds[random.IntN(len(kinds))]
		name := names[random.IntN(len(names))]
		text := all[kind](name, random)
		if random.IntN(4) == 0 { // The name stands among other words.
			text = hostileMore[[]string{"suffix", "prefix", "two names"}[random.IntN(3)]](text, random)
			kind += ", among other words"
		}
		result := list.Screen(&Query{Name: text, NonSDNPossible: true}, scratch)
		if result.Outcome == Clear && !result.Truncated {
			missed[kind+": "+name+" | "+text]++
			total++
		}
	}
	for _, text := range slices.Sorted(maps.Keys(missed)) {
		t.Log(text)
	}
	require.LessOrEqual(t, total*1000, hostileCount*hostilePerMille, "%d of %d unflagged, seed %d", total, hostileCount, seed)
}
