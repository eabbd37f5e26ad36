package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// handbook is the reader of docs/OPERATING.md beside three nodes.
type handbook struct {
	*book
	p      *park
	txn    string // A review that is open.
	folder string // The reader's.
}

// TestHandbookIsRun types the blocks of docs/OPERATING.md, in their order.
func TestHandbookIsRun(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	h := openHandbook(t)
	rows := []struct {
		begins string
		typed  func(*handbook, *pageBlock)
	}{
		{"railguard cluster status", (*handbook).firstLook},
		{"railguard doctor", (*handbook).askDoctor},
		{"export RAILGUARD_BOOTSTRAP_KEY_FILE", (*handbook).plainly},
		{"export RAILGUARD_CLUSTER_SECRET_FILE", (*handbook).plainly},
		{"(umask 077; railguard cluster-secret new", (*handbook).install},
		{"railguard tls init", (*handbook).plainly},
		{"railguard key create", (*handbook).plainly},
		{"railguard signing-key rotate", (*handbook).rotateSigningKey},
		{"railguard cluster-secret reseal", (*handbook).plainly},
		{"export RAILGUARD_BACKUP_PASSPHRASE_FILE", (*handbook).backUp},
		{"railguard backup schedule set", (*handbook).schedule},
		{"export RAILGUARD_CLUSTER_SECRET=", (*handbook).restoreElsewhere},
		{"railguard backup restore monday", notTyped("it wants machines that are gone for good; TestDestroyedClusterComesBack destroys them")},
		{"export RAILGUARD_CLUSTER_SECRET_FILE", notTyped("TestDrill rehearses")},
		{"railguard cluster upgrade plan", notTyped("it wants a later release; TestRollingUpgrade has one")},
		{"railguard cluster raise-matcher", notTyped("it wants a later matcher; TestMatcherUpgradeUnderLoad has one")},
		{"railguard cluster recover --data /var/lib/railguard", (*handbook).lookAtAFolder},
		{"railguard cluster recover --data /var/lib/railguard --confirm", notTyped("it wants a majority that is gone; TestRecoverLostMajority loses one")},
		{"railguard serve --id n1", notTyped("it wants machines that are gone for good; TestRecoverLostMajority and TestOperatorsWalk lose some")},
		{"railguard review next", (*handbook).review},
		{"railguard clear add", (*handbook).clear},
	}
	blocks := readBlocks(t, "docs/OPERATING.md")
	for i, block := range blocks {
		require.Less(t, i, len(rows), "%s, line %d: a block more needs its row here", block.page, block.line)
		require.True(t, strings.HasPrefix(block.commands[0], rows[i].begins), "%s, line %d: %s", block.page, block.line, block.commands[0])
		rows[i].typed(h, block)
	}
	require.Len(t, blocks, len(rows))
}

func openHandbook(t *testing.T) *handbook {
	p := newPark(t, 3)
	p.form()
	n1 := p.machines[0]
	h := &handbook{p: p, book: openBook(t, p.binary, "RAILGUARD_URL="+p.url(n1), "RAILGUARD_ADMIN="+p.adminURL(n1), "RAILGUARD_KEY="+parkKey)}
	h.folder = h.book.folder
	_, token := p.agent(n1, "in the handbook")
	_, h.txn = p.pay(n1, token, 5000)
	h.write("etc/railguard/first-key", parkKey)
	h.write("etc/railguard/cluster-secret", parkSecret)
	h.write("etc/railguard/backup-passphrase", "a passphrase of the handbook")
	for _, folder := range []string{"backups", "usr/bin", "usr/lib/sysusers.d", "etc/systemd/system"} {
		require.NoError(t, os.MkdirAll(filepath.Join(h.folder, folder), 0o755))
	}
	p.must("tls", "init", "--dir", filepath.Join(h.folder, "public"))
	p.must("tls", "issue", "--dir", filepath.Join(h.folder, "public"), "--id", "n1")
	for _, name := range []string{"cert", "api", "etc/railguard/cert"} {
		for _, kind := range []string{".pem", ".key"} {
			h.copy(filepath.Join(h.folder, "public", "n1"+kind), strings.Replace(name+kind, "cert.key", "key.pem", 1))
		}
	}
	h.copy(filepath.Join(h.folder, "public", "n1.key"), "key.pem")
	h.replace = []string{
		"http://127.0.0.1:8180", p.adminURL(n1), "/var/lib/railguard-lists", filepath.Join(p.dir, "lists"), "/var/lib/railguard", n1.data, "/etc/", filepath.Join(h.folder, "etc") + "/",
		"/usr/", filepath.Join(h.folder, "usr") + "/", "/backups", filepath.Join(h.folder, "backups"), "cl_313545b4b57b3889", "cl_none",
	}
	return h
}

func (h *handbook) copy(from, to string) {
	data, err := os.ReadFile(from)
	require.NoError(h.t, err)
	h.write(to, string(data))
}

func (h *handbook) plainly(block *pageBlock) { h.run(block) }

// run types a block that is run as it stands.
func (h *handbook) run(block *pageBlock) []string {
	require.Empty(h.t, block.fence, "line %d is run: its fence is sh alone", block.line)
	return h.read(block)
}

// notTyped is a block that this test cannot type, with the reason, and the tests that do what it
// says with nodes of their own. Its verbs and flags are held by TestDocumentsNameVerbsThatExist.
func notTyped(why string) func(*handbook, *pageBlock) {
	return func(h *handbook, block *pageBlock) {
		require.NotEmpty(h.t, why)
		require.Equal(h.t, "checked", block.fence, "line %d is not run: its fence says so", block.line)
	}
}

func (h *handbook) firstLook(block *pageBlock) {
	printed := h.run(block)
	requirePrinted(h.t, block.printed, printed[0])
	require.Contains(h.t, printed[1], "[+]leader ok")
}

func (h *handbook) askDoctor(block *pageBlock) {
	h.p.must("backup", "create", "--directory", filepath.Join(h.folder, "backups"), "--recipient", h.p.recipient, "--url", h.p.url(h.p.machines[0]))
	h.codes["railguard doctor"] = []int{exitOK, exitWarn, exitFailed} // The disk of a machine that runs tests may be nearly full, or slow.
	said := h.run(block)[0]
	found := readDiagnosis(h.t, said[strings.Index(said, "{"):strings.LastIndex(said, "}")+1]) // What it made of that stands around it.
	found.of(h.t, "quorum")
	for _, f := range found.Findings {
		if f.Level == levelBad {
			require.Regexp(h.t, "^writes ", f.Check, "%+v", f)
			require.Contains(h.t, f.Says, "99 of 100 were durable within ")
		}
	}
}

// install runs the block as root of another root: without the group, and with programs in place of
// the service manager's own.
func (h *handbook) install(block *pageBlock) {
	for _, name := range []string{"railguard.service", "railguard.env", "railguard.sysusers"} {
		h.copy(filepath.Join("../../deploy/systemd", name), name)
	}
	h.program("systemctl", "#!/bin/sh\nexit 0\n")
	h.program("systemd-sysusers", "#!/bin/sh\nexit 0\n")
	before := h.replace
	h.replace = append([]string{" -g railguard", ""}, before...)
	h.run(block)
	h.replace = before
	for _, path := range []string{"usr/bin/railguard", "usr/lib/sysusers.d/railguard.conf", "etc/railguard/railguard.env", "etc/railguard/api.pem", "etc/systemd/system/railguard.service"} {
		require.FileExists(h.t, filepath.Join(h.folder, path))
	}
	secret, err := os.ReadFile(filepath.Join(h.folder, "etc/railguard/cluster-secret"))
	require.NoError(h.t, err)
	require.NotContains(h.t, string(secret), parkSecret, "the new one is there")
	h.write("etc/railguard/cluster-secret", parkSecret)
	h.write("etc/railguard/first-key", parkKey)
}

func (h *handbook) rotateSigningKey(block *pageBlock) {
	before := h.replace
	h.replace = append([]string{`--reason "leaked"`, `--reason "leaked" --confirm cc-v1`}, before...) // As its comment says: nobody types here.
	h.run(block)
	h.replace = before
}

// backUp stops one node, whose folder the last-resort backup reads.
func (h *handbook) backUp(block *pageBlock) {
	n3, before := h.p.machines[2], h.replace
	h.p.kill(n3)
	h.replace = append([]string{"--folder /var/lib/railguard", "--folder " + n3.data, "81920", "0"}, before...)
	h.instead["railguard backup create --directory"] = func() int {
		_, code := h.enter("timeout 20 railguard backup create --directory backups --every 24h --hook /bin/true")
		files, err := filepath.Glob(filepath.Join(h.folder, "backups", "*"))
		require.NoError(h.t, err)
		require.GreaterOrEqual(h.t, len(files), 2, "that of the doctor, and this one")
		require.Equal(h.t, 124, code, "it goes on until it is ended")
		return exitOK
	}
	h.run(block)
	h.replace = before
	h.p.start(n3)
	h.p.awaitReady(n3, "")
}

// schedule waits for the first copy.
func (h *handbook) schedule(block *pageBlock) {
	before, folder := h.replace, filepath.Join(h.folder, "mounted")
	require.NoError(h.t, os.Mkdir(folder, 0o700))
	h.replace = append([]string{"/mnt/backups", folder}, before...)
	h.run(block)
	h.replace = before
	require.Eventually(h.t, func() bool {
		files, err := filepath.Glob(filepath.Join(folder, "*.rgbackup"))
		return err == nil && len(files) == 1
	}, time.Minute, 200*time.Millisecond)
}

// restoreElsewhere restores the cluster's own copies as on a machine that has the cluster secret and
// no passphrase, into an empty folder. No node is started from it: the cluster lives.
func (h *handbook) restoreElsewhere(block *pageBlock) {
	before, folder := h.replace, filepath.Join(h.folder, "restored")
	_, code := h.enter("timeout 5 railguard backup revocations --file revocations.ndjson") // It goes on until it is ended.
	require.Equal(h.t, 124, code)
	_, code = h.enter("passphrase=$RAILGUARD_BACKUP_PASSPHRASE_FILE; secret=$RAILGUARD_CLUSTER_SECRET_FILE; unset RAILGUARD_BACKUP_PASSPHRASE_FILE RAILGUARD_CLUSTER_SECRET_FILE")
	require.Zero(h.t, code)
	h.replace = append([]string{"/mnt/backups", filepath.Join(h.folder, "mounted"), "/var/lib/railguard", folder}, before...)
	h.run(block)
	h.replace = before
	_, code = h.enter("export RAILGUARD_BACKUP_PASSPHRASE_FILE=$passphrase RAILGUARD_CLUSTER_SECRET_FILE=$secret; unset RAILGUARD_CLUSTER_SECRET")
	require.Zero(h.t, code)
	require.FileExists(h.t, filepath.Join(folder, "node.json"))
}

func (h *handbook) lookAtAFolder(block *pageBlock) {
	n2, before := h.p.machines[1], h.replace
	h.p.kill(n2)
	h.replace = append([]string{"/var/lib/railguard", n2.data}, before...)
	printed := h.run(block)
	h.replace = before
	head, _, _ := strings.Cut(block.printed, "\nTAKEN FOR") // How much is uncertain depends on the moment.
	requirePrinted(h.t, head, printed[0])
	require.Contains(h.t, printed[0], "TAKEN FOR COMMITTED, though it may never have been")
	require.Contains(h.t, printed[0], "MAY BE LOST")
	h.p.start(n2)
	h.p.awaitReady(n2, "")
}

func (h *handbook) review(block *pageBlock) {
	h.enter("echo " + h.txn + " >> seen")
	h.run(block)
	require.Eventually(h.t, func() bool {
		said, _ := h.enter("railguard audit get " + h.txn + " -o json")
		return strings.Contains(said, "APPROVED")
	}, 20*time.Second, 200*time.Millisecond)
}

// clear clears a pair with the entry of the list that is active here, and with a date to come.
func (h *handbook) clear(block *pageBlock) {
	h.replace = append([]string{"Nicolas Moros", "Parked Bystander Holding SDN", "22790", fmt.Sprint(910001 + len("SDN List")), "2027-01-01", time.Now().AddDate(0, 6, 0).Format(time.DateOnly)}, h.replace...)
	h.run(block)
}
