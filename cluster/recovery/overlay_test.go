package recovery

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"railguard/audit"
)

// TestOverlayIsADisk holds the overlay to the real disk: the same operations give the
// same bytes, and what stands below never changes.
func TestOverlayIsADisk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		below, err := os.MkdirTemp("", "overlay")
		require.NoError(t, err)
		defer os.RemoveAll(below)
		plain, err := os.MkdirTemp("", "overlay")
		require.NoError(t, err)
		defer os.RemoveAll(plain)
		names := []string{"a", "b", "tail/a", "0000/0001/x"}
		for _, name := range names[:rapid.IntRange(0, len(names)).Draw(t, "files")] {
			data := make([]byte, rapid.IntRange(0, 3*overlayPage/2).Draw(t, "size"))
			for i := range data {
				data[i] = byte(i)
			}
			for _, dir := range []string{below, plain} {
				path := filepath.Join(dir, name)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
				require.NoError(t, os.WriteFile(path, data, 0o600))
			}
		}
		before := readAll(t, below)
		over, real := newOverlay(audit.OSDir(below)), audit.OSDir(plain)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			change(t, names, over, real)
			requireSame(t, names, over, real)
		}
		require.NoError(t, over.close())
		require.Equal(t, before, readAll(t, below))
	})
}

func change(t *rapid.T, names []string, over, real audit.Dir) {
	name := rapid.SampledFrom(names).Draw(t, "name")
	what := rapid.IntRange(0, 3).Draw(t, "what")
	at := rapid.Int64Range(0, 2*overlayPage).Draw(t, "at")
	data := make([]byte, rapid.IntRange(0, 100).Draw(t, "length"))
	for i := range data {
		data[i] = byte(i) ^ 0x5a
	}
	to := filepath.Join(filepath.Dir(name), "moved")
	var errs []error
	for _, dir := range []audit.Dir{over, real} {
		err := func() error {
			switch what {
			case 2:
				return dir.Rename(name, to)
			case 3:
				_, err := dir.Open(name)
				if err != nil {
					return err
				}
				return dir.Remove(name)
			}
			f, err := dir.Create(name)
			if err != nil {
				return err
			}
			defer f.Close()
			if what == 0 {
				return f.Truncate(at)
			}
			_, err = f.WriteAt(data, at)
			return err
		}()
		errs = append(errs, err)
	}
	require.Equal(t, errors.Is(errs[1], fs.ErrNotExist), errors.Is(errs[0], fs.ErrNotExist), "%v", errs)
}

func requireSame(t *rapid.T, names []string, over, real audit.Dir) {
	for _, name := range append([]string{"moved", "tail/moved", "0000/0001/moved"}, names...) {
		want, wantErr := contents(real, name)
		have, haveErr := contents(over, name)
		require.Equal(t, errors.Is(wantErr, fs.ErrNotExist), errors.Is(haveErr, fs.ErrNotExist), "%s: %v %v", name, wantErr, haveErr)
		require.Equal(t, want, have, name)
	}
	for _, folder := range []string{"tail", "0000/0001"} {
		want, err := real.List(folder)
		require.NoError(t, err)
		have, err := over.List(folder)
		require.NoError(t, err)
		require.ElementsMatch(t, want, have, folder)
	}
}

func contents(dir audit.Dir, name string) ([]byte, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(f, 0, size))
}

func readAll(t *rapid.T, dir string) map[string][]byte {
	all := map[string][]byte{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			all[path], err = os.ReadFile(path)
		}
		return err
	}))
	return all
}
