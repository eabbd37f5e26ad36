package watch

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit/merkle"
	"railguard/audit/note"
)

// A watcher that demands a witness looks at the newest checkpoint that witnesses signed, before
// and after the log's keys rotate, and takes no other.
func TestDemandsAWitness(t *testing.T) {
	f := newFakeLog(t, 40)
	one, err := note.NewCosigner("witness.example.org/1", bytes.Repeat([]byte{8}, note.SeedSize))
	require.NoError(t, err)
	w := follow(t, f, one.VerifierKey()+"\n"+f.signer.VerifierKeys(), Options{})
	cosign := func() {
		signed := f.sign(len(f.leaves))
		point, err := note.Parse(signed)
		require.NoError(t, err)
		f.cosigned = note.WithLines(signed, string(one.Cosign(&point, f.seconds)))
	}
	require.Equal(t, KindAway, w.look(), "nobody has cosigned yet")
	cosign()
	require.Equal(t, KindFirst, w.look())
	f.grow(3)
	require.Equal(t, KindSame, w.look(), "what is not cosigned is not looked at")
	next := signerOf(t, logName, 2)
	f.listed = note.SizesLine(44, 1<<64-1) + next.VerifierKeys() + f.signer.Endorse(next, 44) + note.SizesLine(0, 43) + f.listed
	f.signer = next
	f.grow(1)
	cosign()
	require.Equal(t, "rotation grown", w.look())
	f.grow(1)
	f.cosigned = f.sign(len(f.leaves))
	require.Equal(t, KindSignature, w.look(), "after the rotation the witness is demanded as before")
}

// Witnesses that lag behind the log for too long are an alarm; when they catch up it ends.
func TestWitnessesThatLag(t *testing.T) {
	f := newFakeLog(t, 40)
	one, err := note.NewCosigner("witness.example.org/1", bytes.Repeat([]byte{8}, note.SeedSize))
	require.NoError(t, err)
	cosign := func() {
		signed := f.sign(len(f.leaves))
		point, err := note.Parse(signed)
		require.NoError(t, err)
		f.cosigned = note.WithLines(signed, string(one.Cosign(&point, f.seconds)))
	}
	cosign()
	policy, err := note.JoinPolicy(f.signer.VerifierKeys(), "witness w "+one.VerifierKey()+"\nquorum w\n")
	require.NoError(t, err)
	w := follow(t, f, policy, Options{Unwitnessed: 150 * time.Second})
	require.Equal(t, KindFirst, w.look())
	later := func() string { w.now = w.now.Add(time.Minute); return w.look() }
	f.grow(3)
	for range 3 {
		require.Equal(t, KindSame, later())
	}
	require.Equal(t, "same unwitnessed", later())
	require.Equal(t, "same unwitnessed", later())
	cosign()
	f.grow(1)
	require.Equal(t, KindGrown, later(), "they signed what they had not, and the log has grown since")
	require.Equal(t, KindSame, later())
}

// A checkpoint submitted for cosigning is compared with the tree that the log shows publicly.
func TestCosignedIsOfTheTreeThatIsShown(t *testing.T) {
	f := newFakeLog(t, 40)
	w := follow(t, f, f.signer.VerifierKeys(), Options{})
	require.NoError(t, w.state.SetCosigned(logName, f.sign(20)))
	require.Equal(t, KindFirst, w.look())
	require.Equal(t, KindSame, w.look())
	f.grow(5)
	ahead := f.sign(45)
	f.shown = f.sign(40)
	require.NoError(t, w.state.SetCosigned(logName, ahead))
	require.Equal(t, KindSame, w.look(), "it may be ahead of what was seen")
	all := f.leaves
	f.leaves = append([]merkle.Hash(nil), all...)
	f.leaves[3][0] ^= 1
	forked := f.sign(30)
	f.leaves = all
	require.NoError(t, w.state.SetCosigned(logName, forked))
	require.Equal(t, "same fork", w.look(), "another log was submitted than is shown")
	require.Equal(t, "same fork", w.look())
}
