package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"railguard/cluster/datadir"
)

// Levels of findings.
const (
	levelOK   = "ok"
	levelWarn = "warn" // Nothing is broken yet, but something will be.
	levelBad  = "bad"
)

// finding is the result of one check of `railguard doctor`.
type finding struct {
	Check string `json:"check"`
	Level string `json:"level"`
	Says  string `json:"says"`
	Do    string `json:"do,omitempty"` // Empty if all is well.
}

type doctor struct {
	client
	backups      string
	certificates []string
	maxAge       time.Duration
	now          func() time.Time
	found        []finding
}

func newDoctor() *cobra.Command {
	d := &doctor{now: time.Now}
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look at a cluster, this machine's node, certificates and backups, and say what to do", GroupID: "operation", Args: cobra.NoArgs,
		Long: `Look at whatever is named, and say of each thing how it is and what to do:

  --url, --key       each address: whether it takes calls (readyz), of https its certificate;
                     then the cluster: quorum, nodes, clocks, disks, versions, the list and its
                     age (the key needs the role ops)
  --admin            each node named here: durable writes, its disk, files it may open,
                     certificates between nodes, how full the state's tables are, and what its
                     flight recorder has of the last hour (this with the role ops)
  --data             a node's folder on this machine: whose it is, who may read it, room, how
                     long its disk takes to make 4 KiB durable
  --certificate      certificate files and their dates
  --backups          the age of the newest backup in a directory, and whether it begins as one
                     (whether it comes back only ` + "`railguard drill`" + ` knows)

It changes nothing; in a folder it writes a file of 36 KiB and removes it. Exit codes: 0 all
is well, 4 warnings alone, 1 something is bad, or it was ended before it had seen everything.`,
		Example: `  railguard doctor --data /var/lib/railguard --certificate /etc/railguard/cert.pem --backups /backups
  railguard doctor --url https://guard.example.org --admin http://127.0.0.1:8180 -o json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := d.findServer(cmd, false)
			alone := errors.Is(err, errNoServer)
			if err != nil && !alone {
				return err
			}
			for i, address := range d.admin {
				whole, err := d.wholeAddress(address)
				if err != nil {
					return usageError("--admin: %w", err)
				}
				d.admin[i] = whole
			}
			if d.maxAge < 0 {
				return usageError("--max-age must be a span of time (0: any age)")
			}
			folders := d.namedFolders(cmd)
			if alone && len(folders) == 0 && d.backups == "" && len(d.certificates) == 0 && len(d.admin) == 0 {
				return usageError("%w, nor anything else to look at: see `railguard doctor --help`", err)
			}
			d.checkAll(cmd.Context(), alone, folders)
			return d.printFindings(cmd.Context(), cmd.OutOrStdout())
		},
	}
	d.client.defineFlags(cmd, false)
	cmd.Flags().StringSliceVar(&d.admin, "admin", nil, "addresses of admin listeners, comma-separated (RAILGUARD_ADMIN)")
	cmd.Flags().StringSliceVar(&d.certificates, "certificate", nil, "certificate files to look at (repeatable)")
	cmd.Flags().StringVar(&d.backups, "backups", "", "directory that 'backup create --directory' writes to")
	cmd.Flags().DurationVar(&d.maxAge, "max-age", backupAgeMax, "the newest backup must not be older (0: any)")
	return cmd
}

// checkAll makes all checks, one after the other, until ctx is done.
func (d *doctor) checkAll(ctx context.Context, alone bool, folders []string) {
	var steps []func()
	if !alone {
		for _, base := range d.url {
			steps = append(steps, func() { d.checkServedCertificate(ctx, base) }, func() { d.checkReady(ctx, base) })
		}
		steps = append(steps, func() { d.checkCluster(ctx) })
	}
	for _, address := range d.admin {
		steps = append(steps, func() { d.checkReady(ctx, address) }, func() { d.checkNode(ctx, address) }, func() { d.checkRecorder(ctx, address) })
	}
	for _, folder := range folders {
		steps = append(steps, func() { d.checkFolder(folder) })
	}
	for _, path := range d.certificates {
		steps = append(steps, func() { d.certificateFile(path) })
	}
	if d.backups != "" {
		steps = append(steps, d.checkBackup)
	}
	for _, step := range steps {
		before := len(d.found)
		step()
		if ctx.Err() != nil {
			d.found = d.found[:before] // A check that was interrupted says nothing about its subject.
			return
		}
	}
}

// addFinding adds a finding. It omits the remedy if all is well.
func (d *doctor) addFinding(check, level, do, format string, args ...any) {
	f := finding{Check: check, Level: level, Says: fmt.Sprintf(format, args...)}
	if level != levelOK {
		f.Do = do
	}
	d.found = append(d.found, f)
}

// levelIf returns levelBad if bad holds, else levelWarn if warn holds, else levelOK.
func levelIf(bad, warn bool) string {
	switch {
	case bad:
		return levelBad
	case warn:
		return levelWarn
	}
	return levelOK
}

// printFindings prints the findings. Its error carries the exit code of the worst one.
func (d *doctor) printFindings(ctx context.Context, out io.Writer) error {
	worst := levelOK
	if d.found == nil {
		d.found = []finding{}
	}
	for _, f := range d.found {
		if f.Level == levelBad || f.Level == levelWarn && worst == levelOK {
			worst = f.Level
		}
	}
	if d.output == "json" {
		if err := printJSON(out, map[string]any{"worst": worst, "findings": d.found, "ended": ctx.Err() != nil}); err != nil {
			return err
		}
	} else {
		for _, f := range d.found {
			fmt.Fprintf(out, "%-4s  %-16s  %s\n", f.Level, f.Check, f.Says)
			if f.Do != "" {
				fmt.Fprintf(out, "%-4s  %-16s  -> %s\n", "", "", f.Do)
			}
		}
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("ended before it had looked at everything")
	case worst == levelBad:
		return errors.New("something is bad")
	case worst == levelWarn:
		return &exitError{code: exitWarn, err: errors.New("there are warnings")}
	}
	return nil
}

const (
	syncTries = 9
	syncWarn  = 50 * time.Millisecond
	syncBad   = 500 * time.Millisecond

	gibibyte = 1 << 30
)

// namedFolders returns the nodes' folders that --data names: one folder, or those of a
// development cluster.
func (d *doctor) namedFolders(cmd *cobra.Command) []string {
	named := cmd.Flags().Changed("data")
	if dev, err := readDevFile(d.data); err == nil && (named || !cmd.Flags().Changed("url")) {
		var all []string
		for _, node := range dev.Nodes {
			all = append(all, filepath.Join(d.data, node.ID))
		}
		return all
	}
	if named {
		return []string{d.data}
	}
	return nil
}

// checkFolder checks a node's folder on this machine.
func (d *doctor) checkFolder(path string) {
	who, err := datadir.ReadIdentity(path)
	if errors.Is(err, datadir.ErrFormat) {
		d.addFinding("folder", levelBad, "run the release that wrote it, or begin with an empty folder", "%v", err)
		return
	}
	if err != nil {
		d.addFinding("folder", levelBad, "name a node's data folder, and run this as its owner", "%s: %v", path, err)
		return
	}
	switch {
	case who.Superseded != "":
		d.addFinding("folder "+who.ID, levelBad, "no node starts on it again: keep it aside, and let the node join with an empty folder", "%s of cluster %s: %s", path, who.ClusterID, who.Superseded)
	case who.ClusterID == "":
		d.addFinding("folder "+who.ID, levelWarn, `see its readyz and its log: "Readiness" in docs/OPERATING.md`, "%s is of no cluster yet: its node was not taken in", path)
	default:
		d.addFinding("folder "+who.ID, levelOK, "", "%s of cluster %s", path, who.ClusterID)
	}
	d.checkAccess(path, who.ID)
	if left, err := filepath.Glob(filepath.Join(path, datadir.BackupNameStart+"*")); err == nil && len(left) > 0 {
		d.addFinding("left "+who.ID, levelWarn, "it holds personal data: delete it when it is no longer needed; it goes by itself after 89 days", "%s", filepath.Base(left[0]))
	}
	free, total, err := datadir.FreeSpace(path)
	if err != nil || total == 0 {
		d.addFinding("room "+who.ID, levelWarn, "look by hand", "not known: %v", err)
	} else {
		d.addFinding("room "+who.ID, levelIf(free < min(total/10, gibibyte), free < min(total/5, 5*gibibyte)), `make room: "Disk" in docs/OPERATING.md`, "%d of %d MiB free", free>>20, total>>20)
	}
	took, err := syncTime(path)
	if err != nil {
		do := "run this as the folder's owner; else look at the disk"
		switch {
		case errors.Is(err, syscall.ENOSPC):
			do = `make room: "Disk" in docs/OPERATING.md`
		case errors.Is(err, syscall.EROFS):
			do = "its file system can only be read: see dmesg for why; a node cannot run on it"
		}
		d.addFinding("sync "+who.ID, levelBad, do, "%v", err)
		return
	}
	d.addFinding("sync "+who.ID, levelIf(took > syncBad, took > syncWarn), "a faster disk, or fewer neighbours on it: every verdict waits for it on a majority", "4 KiB are durable after %s", took.Round(10*time.Microsecond))
}

// checkAccess checks who may read a folder, since names, wallets and payments are not
// encrypted there.
func (d *doctor) checkAccess(path, id string) {
	var open []string
	level := levelWarn // Access for a group may be intended: the fsGroup of a pod.
	for _, name := range []string{"", "node.json", adminTokenFile, secretFile} {
		info, err := os.Stat(filepath.Join(path, name))
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			open = append(open, fmt.Sprintf("%s (%04o)", filepath.Join(path, name), info.Mode().Perm()))
			if info.Mode().Perm()&0o007 != 0 {
				level = levelBad
			}
		}
	}
	if len(open) > 0 {
		d.addFinding("access "+id, level, "take it away from all but the owner: chmod -R go= "+path, "others may read or write %s", strings.Join(open, ", "))
	}
}

// syncTime returns how long the folder's disk takes to make 4 KiB durable: the median of
// several tries. It removes the file that it writes.
func syncTime(dir string) (middle time.Duration, err error) {
	file, err := os.CreateTemp(dir, "doctor-*.tmp")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	took := make([]time.Duration, 0, syncTries)
	for range syncTries {
		began := time.Now()
		if _, err := file.Write(make([]byte, 4096)); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[syncTries/2], nil
}

// certificateFile checks every certificate in a PEM file.
func (d *doctor) certificateFile(path string) {
	all, err := certificatesIn(path)
	if err != nil {
		d.addFinding("certificate", levelBad, "name a PEM file with a certificate", "%v", err)
		return
	}
	for _, c := range all {
		d.checkDates("certificate "+filepath.Base(path), c)
	}
}

// checkDates checks when a certificate is valid.
func (d *doctor) checkDates(check string, c *x509.Certificate) {
	now := d.now()
	left := c.NotAfter.Sub(now)
	says := "good until"
	switch {
	case now.Before(c.NotBefore):
		says = "not good before " + c.NotBefore.UTC().Format(time.RFC3339) + ", until"
	case left < 0:
		says = "EXPIRED, was good until"
	}
	d.addFinding(check, levelIf(left < 0 || now.Before(c.NotBefore), left < certificateWarn),
		"renew it and replace the file: nodes take it up without a restart; or set this machine's clock", "%s: %s %s", printableText(c.Subject.String()), says, c.NotAfter.UTC().Format(time.RFC3339))
}

// checkBackup checks the newest backup: its age, and whether it looks like a backup at all.
func (d *doctor) checkBackup() {
	path, at, err := newestBackup(d.backups)
	switch {
	case errors.Is(err, errNoBackup):
		d.addFinding("backup", levelBad, "start `railguard backup create --directory "+d.backups+" --every 24h`", "%v", err)
		return
	case err != nil:
		d.addFinding("backup", levelBad, "name the directory that `railguard backup create --directory` writes to, and run this as who may read it", "%v", err)
		return
	}
	old := d.now().Sub(at)
	begins, err := beginsAsBackup(path)
	switch {
	case err != nil:
		d.addFinding("backup", levelBad, "run this as who may read it", "%v", err)
	case !begins:
		d.addFinding("backup", levelBad, "take another now: `railguard backup create`; then run `railguard drill`", "%s is no backup: it is empty, or does not begin as one", filepath.Base(path))
	case old < -backupAhead:
		d.addFinding("backup", levelBad, "set this machine's clock, or that of the machine which took it; then run `railguard drill`", "%s is dated %s ahead", filepath.Base(path), (-old).Round(time.Second))
	default:
		d.addFinding("backup", levelIf(d.maxAge > 0 && old > d.maxAge, false), "see why `railguard backup create --every` stopped; then run `railguard drill`", "%s is %s old", filepath.Base(path), max(old, 0).Round(time.Second))
	}
}

// backupBegin is how every backup begins, because it is encrypted with age.
const backupBegin = "age-encryption.org/"

// backupAhead is how far a backup may be dated ahead of this machine's clock.
const backupAhead = 10 * time.Minute

// beginsAsBackup returns false for a file that is nearly empty or is no backup.
func beginsAsBackup(path string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	begin := make([]byte, len(backupBegin))
	_, err = io.ReadFull(file, begin)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return false, nil
	}
	return string(begin) == backupBegin, err
}

const backupNameTime = "20060102T150405Z"

// backupAgeMax is one day, and two hours for taking the next backup.
const backupAgeMax = 26 * time.Hour

// newestBackup returns the newest file of `railguard backup create --directory` and its time.
// The time is taken from the name, because copying a file changes its modification time.
func newestBackup(dir string) (path string, at time.Time, err error) {
	files, err := backupsIn(dir)
	if err != nil {
		return "", at, err
	}
	newest := files[len(files)-1]
	return newest.path, newest.at, nil
}

type backupFile struct {
	path string
	at   time.Time
}

var errNoBackup = errors.New("there is no backup")

// backupsIn returns the backups in a directory, at least one, oldest first.
func backupsIn(dir string) ([]backupFile, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []backupFile
	for _, entry := range entries {
		name, is := strings.CutSuffix(entry.Name(), backupSuffix)
		if !is {
			continue
		}
		file := backupFile{path: filepath.Join(dir, entry.Name())}
		if file.at, err = time.Parse(backupNameTime, name[strings.LastIndexByte(name, '-')+1:]); err != nil {
			info, err := entry.Info()
			if err != nil {
				return nil, err
			}
			file.at = info.ModTime()
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%w (*%s) in %s", errNoBackup, backupSuffix, dir)
	}
	slices.SortFunc(files, func(a, b backupFile) int { return a.at.Compare(b.at) })
	return files, nil
}
