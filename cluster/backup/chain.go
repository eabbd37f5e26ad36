package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"railguard/engine"
)

// Suffixes of the names of files in a folder of backups.
const (
	FileSuffix = ".rgbackup"
	TailSuffix = ".rgtail"
)

// nameTime is the time in a file's name. Names are in the order of time.
const nameTime = "20060102T150405Z"

// FileName names a backup that is taken at a time.
func FileName(at time.Time) string { return "railguard-" + at.UTC().Format(nameTime) + FileSuffix }

// TailName names a tail by the entries in it.
func TailName(first, last uint64) string {
	return fmt.Sprintf("railguard-entries-%020d-%020d%s", first, last, TailSuffix)
}

func parseTailName(name string) (first, last uint64, ok bool) {
	n, err := fmt.Sscanf(name, "railguard-entries-%020d-%020d"+TailSuffix, &first, &last)
	return first, last, n == 2 && err == nil && name == TailName(first, last)
}

// Chain is what a folder holds of one cluster, from the newest full backup on.
type Chain struct {
	Files []string   // Backups in the order in which a restore takes them.
	Says  []Manifest // What each of them says of itself.
	Tails []string   // The tails behind the last one, without a gap.
	Last  uint64     // The last entry in it, that of the tails included.
	Since int64      // The log time of that entry, as far as it is known without opening every tail.
}

// Full returns the manifest of the full backup, and Newest that of the last one.
func (c *Chain) Full() *Manifest   { return &c.Says[0] }
func (c *Chain) Newest() *Manifest { return &c.Says[len(c.Says)-1] }

// ErrNoChain says that a folder holds no full backup that these keys open.
var ErrNoChain = errors.New("backup: there is no backup that is full and that this key opens")

// FindChain finds the newest backup in a folder, those that it continues, and the tails behind it.
func FindChain(dir string, keys *Keys) (*Chain, error) {
	copies, err := listCopies(dir, keys)
	if err != nil {
		return nil, err
	}
	c := &Chain{}
	for i := len(copies) - 1; i >= 0; i-- {
		one := &copies[i]
		if one.err != nil || len(c.Says) > 0 && one.says.ClusterID != c.Says[0].ClusterID {
			continue // Of another cluster that is backed up to the same folder, or for another key.
		}
		c.Files, c.Says = append(c.Files, one.path), append(c.Says, *one.says)
		if one.says.From == 0 {
			slices.Reverse(c.Files)
			slices.Reverse(c.Says)
			if err := c.checkGaps(copies); err != nil {
				return nil, err
			}
			return c, c.findTails(dir, keys)
		}
	}
	if len(c.Files) > 0 {
		return nil, fmt.Errorf("%w: %s holds incremental backups alone: the full one before them is missing", ErrNoChain, dir)
	}
	return nil, errors.Join(fmt.Errorf("%w: %s", ErrNoChain, dir), joinUnopened(copies))
}

// checkGaps refuses copies between which one is missing, and names what cannot be opened: it may
// be that one.
func (c *Chain) checkGaps(copies []copied) error {
	for i := 1; i < len(c.Says); i++ {
		if before := &c.Says[i-1]; c.Says[i].From > before.TreeSize {
			return errors.Join(fmt.Errorf("backup: %s begins at leaf %d, and %s before it ends at %d: a file between is missing; to restore up to %s, move what is behind %s out of the folder",
				filepath.Base(c.Files[i]), c.Says[i].From, filepath.Base(c.Files[i-1]), before.TreeSize, before.LogTime, filepath.Base(c.Files[i-1])), joinUnopened(copies))
		}
	}
	return nil
}

func joinUnopened(copies []copied) (err error) {
	for i := range copies {
		err = errors.Join(err, copies[i].err)
	}
	return err
}

// copied is a backup in a folder.
type copied struct {
	path string
	says *Manifest
	err  error // Why it cannot be opened.
}

// copiesMax bounds the files of a folder that are looked at.
const copiesMax = 100_000

func listCopies(dir string, keys *Keys) (all []copied, err error) {
	entries, err := os.ReadDir(dir) // In the order of names.
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	for _, entry := range entries[:min(len(entries), copiesMax)] {
		if !strings.HasSuffix(entry.Name(), FileSuffix) {
			continue
		}
		one := copied{path: filepath.Join(dir, entry.Name())}
		one.says, one.err = Inspect(one.path, keys)
		all = append(all, one)
	}
	return all, nil
}

func (c *Chain) findTails(dir string, keys *Keys) error {
	c.Last, c.Since = c.Newest().Index, c.Newest().LogNanos
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	for _, entry := range entries {
		first, last, ok := parseTailName(entry.Name())
		if !ok || last <= c.Last || first > c.Last+1 {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		head, err := InspectTail(path, keys)
		if err != nil {
			return fmt.Errorf("%w; what is before it ends at entry %d, log time %s: to restore up to there, move it out of the folder", err, c.Last, engine.Time(c.Since))
		}
		if head.ClusterID != c.Newest().ClusterID || head.Lineage != c.Newest().Lineage {
			continue
		}
		c.Tails, c.Last, c.Since = append(c.Tails, path), last, head.LogNanos
	}
	return nil
}

// Thin deletes what nobody needs for the newest keep full backups: older backups, and the tails that
// a later backup and the one before it hold. It never deletes a file of another cluster, one that it
// cannot open, or a kept one.
func Thin(dir string, keys *Keys, cluster string, keep int, kept ...string) (gone []string, err error) {
	all, err := listCopies(dir, keys)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(c copied) bool { return c.err != nil || c.says.ClusterID != cluster })
	from := keptFrom(all, keep)
	remove := func(path string) {
		if slices.Contains(kept, filepath.Base(path)) {
			return
		}
		if removeErr := os.Remove(path); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("backup: %w", removeErr))
			return
		}
		gone = append(gone, filepath.Base(path))
	}
	for _, one := range all[:from] {
		remove(one.path)
	}
	if len(all) < 2 {
		return gone, err
	}
	entries, listErr := os.ReadDir(dir)
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if _, _, ok := parseTailName(entry.Name()); !ok {
			continue
		}
		if head, err := InspectTail(path, keys); err == nil && head.ClusterID == cluster && isHeld(head, all, from) {
			remove(path)
		}
	}
	return gone, errors.Join(err, listErr)
}

// keptFrom returns the first copy that stays: the last but keep full one of the newest lineage, or
// the first of all where there are fewer. After a restore two full ones of the new lineage must be
// there before what was restored from goes: whoever restored the wrong thing can begin again.
func keptFrom(all []copied, keep int) (from int) {
	if len(all) == 0 {
		return 0
	}
	lineage := all[len(all)-1].says.Lineage
	if slices.ContainsFunc(all, func(c copied) bool { return c.says.Lineage != lineage }) {
		keep = max(keep, 2)
	}
	for i := len(all) - 1; i >= 0; i-- {
		if c := all[i].says; c.From == 0 && c.Lineage == lineage {
			if keep--; keep == 0 {
				return i
			}
		}
	}
	return 0
}

// isHeld reports whether no restore needs a tail: the last copy but one has its entries, or no copy
// of its lineage is left. A copy of another lineage, made after a restore, proves nothing of it.
func isHeld(head *EntriesHead, all []copied, from int) bool {
	ofLineage := func(c copied) bool { return c.says.Lineage == head.Lineage }
	last := all[len(all)-2].says
	return last.Lineage == head.Lineage && head.Last <= last.Index || !slices.ContainsFunc(all[from:], ofLineage)
}

const (
	damagedSuffix = ".damaged"
	damagedKept   = 2         // So many copies that did not read back stay, for whoever looks into it.
	brokenOffAge  = time.Hour // A file to which nobody wrote for so long is not written any more.
)

// SetAside renames a copy that did not read back as it was written.
func SetAside(path string) error { return os.Rename(path, path+damagedSuffix) }

// Sweep deletes what copies left that broke off, and all but the newest copies that were set aside:
// neither a node that is killed again and again nor a bad disk fills the folder with them.
func Sweep(dir string, now time.Time) (err error) {
	entries, err := os.ReadDir(dir) // In the order of names, which is that of time.
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	damaged := 0
	for _, entry := range slices.Backward(entries) {
		name, unended := strings.CutSuffix(entry.Name(), unendedSuffix)
		name, aside := strings.CutSuffix(name, damagedSuffix)
		if !strings.HasPrefix(name, "railguard-") || !strings.HasSuffix(name, FileSuffix) && !strings.HasSuffix(name, TailSuffix) {
			continue
		}
		remove := false
		if unended {
			info, infoErr := entry.Info()
			remove = infoErr == nil && now.Sub(info.ModTime()) > brokenOffAge
		} else if aside {
			damaged++
			remove = damaged > damagedKept
		}
		if remove {
			err = errors.Join(err, os.Remove(filepath.Join(dir, entry.Name())))
		}
	}
	return err
}
