package ofac

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// seal makes the length and checksum of tampered bytes right, so that the
// checks behind them are met.
func seal(data []byte) []byte {
	if len(data) < compiledHeader {
		return data
	}
	copy(data, compiledMagic)
	binary.LittleEndian.PutUint64(data[8:], uint64(len(data)))
	binary.LittleEndian.PutUint64(data[16:], hashBytes(data[checksummedFrom:]).print)
	return data
}

// exercise calls everything a list can be asked.
func exercise(list *Index) {
	scratch := NewScratch()
	for _, name := range []string{"LAZARUS GROUP", "Maduro Nicolas", "Nikolas Madura Moros", "DOVER", "라자루스", "lazaros grup llc", "zz"} {
		list.Screen(&Query{Name: name, NonSDNPossible: true, WeakAliases: true, Review: 1}, scratch)
	}
	list.Wallet("0x098B716B8Aaf21512996dC57EB0615e2383E2f96")
	list.Wallet("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa")
	for i := range list.entityCount {
		list.Entry(list.entity(i).uid)
	}
	Diff(list, list)
}

func TestOpenRefusesDamage(t *testing.T) {
	good := mustBuild(t, smallList())
	for length := range len(good) {
		_, err := Open(good[:length])
		require.ErrorIs(t, err, ErrCompiled)
	}
	_, err := Open(append(append([]byte(nil), good...), 0))
	require.ErrorIs(t, err, ErrCompiled)
	for i := 0; i < len(good); i += 7 {
		bad := append([]byte(nil), good...)
		bad[i] ^= 0x40
		_, err := Open(bad)
		require.ErrorIs(t, err, ErrCompiled, "byte %d", i)
	}
}

// Bytes with a right checksum and wrong content are refused or harmless.
func TestOpenSurvivesForgery(t *testing.T) {
	good := mustBuild(t, smallList())
	for i := checksummedFrom; i < len(good); i++ {
		for _, flip := range []byte{0x01, 0x80, 0xFF} {
			bad := append([]byte(nil), good...)
			bad[i] ^= flip
			if list, err := Open(seal(bad)); err == nil {
				exercise(list)
			}
		}
	}
}

func FuzzOpen(f *testing.F) {
	good := mustBuild(f, smallList())
	f.Add(good, uint32(100), uint32(0xFFFFFFFF))
	f.Add(good[:200], uint32(0), uint32(1))
	f.Add([]byte(compiledMagic), uint32(0), uint32(0))
	f.Fuzz(func(t *testing.T, data []byte, at, value uint32) {
		if _, err := Open(data); err != nil {
			require.ErrorIs(t, err, ErrCompiled)
		}
		data = append([]byte(nil), data...)
		if len(data) >= 4 {
			at %= uint32(len(data) - 3)
			binary.LittleEndian.PutUint32(data[at:], value)
		}
		if list, err := Open(seal(data)); err == nil {
			exercise(list)
		}
	})
}
