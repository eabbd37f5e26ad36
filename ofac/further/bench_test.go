package further

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
	"railguard/ofac/feed"
)

// ofacFile is the newest real list of OFAC's, where there is one.
const ofacFile = "../../../shared/data/ofac/2025-11-19/sdn_enhanced.derived.xml.bz2"

// snapshotOf is OFAC's real list, with the UN's and an own list of so many rows, half of them names
// and half wallets.
func snapshotOf(t testing.TB, own int) Snapshot {
	file, err := os.ReadFile(ofacFile)
	if err != nil {
		t.Skip("no copy of OFAC's list here")
	}
	loaded, err := feed.LoadFiles([]feed.File{{Name: "SDN_ENHANCED.XML", Data: file}}, nil)
	require.NoError(t, err)
	s := Snapshot{Entities: loaded.Entities, Meta: loaded.Meta}
	if own == 0 {
		return s
	}
	un, err := Read(unFile(t), Options{})
	require.NoError(t, err)
	s, err = s.Replace(ofac.Further{ID: "un", Name: "UN Security Council", Format: FormatUN}, &un)
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		letters := make([]byte, 4+random.IntN(5))
		for i := range letters {
			letters[i] = byte('a' + random.IntN(26))
		}
		return string(letters)
	}
	part := Part{Format: FormatOwn}
	for i := range own {
		row := Row{ID: fmt.Sprintf("case-%d", i), Kind: "individual", Name: word() + " " + word() + " " + word(), Reason: "fraud"}
		if i%2 == 1 {
			row.Kind, row.Name, row.Wallets = "wallet", "", []string{fmt.Sprintf("0x%040x", random.Uint64())}
		}
		entity, err := row.Entity(i + 1)
		require.NoError(t, err)
		part.Entities = append(part.Entities, entity)
	}
	s, err = s.Replace(ofac.Further{ID: "house", Name: "House list", Format: FormatOwn}, &part)
	require.NoError(t, err)
	return s
}

// BenchmarkLists measures what lists beside OFAC's cost: bytes in the log and in memory, compiling,
// and looking names and wallets up.
func BenchmarkLists(b *testing.B) {
	for _, own := range []int{0, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("own=%d", own), func(b *testing.B) {
			s := snapshotOf(b, own)
			encoded, err := ofac.EncodeEntities(s.Entities, s.Meta)
			require.NoError(b, err)
			runtime.GC() // The snapshot is not used any more.
			began := time.Now()
			list, err := ofac.Compile(encoded, ofac.MatcherVersion)
			require.NoError(b, err)
			compiled := time.Since(began)
			scratch := ofac.NewScratch()
			for name, query := range map[string]string{"ordinary": "Plain Harbour Bakery", "listed": "LAZARUS GROUP", "long": "The Quiet Company of Harbour Bakers and Millers Limited"} {
				b.Run("name="+name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						list.Screen(&ofac.Query{Name: query, Brief: true}, scratch)
					}
					b.ReportMetric(float64(scratch.Steps()), "steps")
				})
			}
			b.Run("wallet", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					list.WalletAt("0x00000000219ab540356cBB839Cbe05303d7705Fa", 1)
				}
				b.ReportMetric(float64(len(encoded))/(1<<20), "log-MiB")
				b.ReportMetric(float64(list.Size())/(1<<20), "tables-MiB")
				b.ReportMetric(compiled.Seconds(), "compile-s")
			})
		})
	}
}
