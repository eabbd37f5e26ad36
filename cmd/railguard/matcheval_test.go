package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The verb needs no server and says on which list, with which matcher and how it measured.
func TestMatchEval(t *testing.T) {
	text, _, err := runCommand(t, "match", "eval", "--families", "--sample", "20", "--misses", "1", "--family", "given_first|joined_slip|innocent_person_.*")
	require.NoError(t, err)
	for _, word := range []string{"embedded sample", "screening OFAC+CONS;", "at most 20 names", "given_first", "100.00", "joined_slip: ", "innocent_person_russian", "TOGETHER"} {
		require.Contains(t, text, word)
	}
	require.NotContains(t, text, "memo_whole")

	again, _, err := runCommand(t, "match", "eval", "--families", "--sample", "20", "--misses", "1", "--family", "given_first|joined_slip|innocent_person_.*")
	require.NoError(t, err)
	require.Equal(t, text, again)

	text, _, err = runCommand(t, "match", "eval", "--families", "--sample", "5", "--misses", "2", "--family", "given_first|joined_slip", "--screening", "OFAC", "-o", "json")
	require.NoError(t, err)
	var answer struct {
		Screening string
		Sample    int
		Families  []measuredFamily
		Fallen    []string
	}
	require.NoError(t, json.Unmarshal([]byte(text), &answer))
	require.Equal(t, "OFAC", answer.Screening)
	require.Len(t, answer.Families, 2)
	require.Equal(t, 5, answer.Families[0].Names)
	require.InDelta(t, 100, answer.Families[0].Share, 0)
	require.NotEmpty(t, answer.Families[1].Missed)
	require.NotEmpty(t, answer.Families[1].Missed[0].Listed)
	require.NotNil(t, answer.Fallen)
}

// A list in any published form takes the place of the sample.
func TestMatchEvalOfAList(t *testing.T) {
	dir := t.TempDir()
	primary := filepath.Join(dir, "sdn.csv")
	require.NoError(t, os.WriteFile(primary, []byte("101,\"ALDANA VERMEJO, Joaquin\",\"individual\",\"SDNT\",-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,-0- \r\n\x1a"), 0o600))
	for name := range map[string]bool{"alt.csv": true, "add.csv": true, "sdn_comments.csv": true} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("\x1a"), 0o600))
	}
	text, _, err := runCommand(t, "match", "eval", "--families", "--list", primary, "--list", filepath.Join(dir, "alt.csv"), "--list", filepath.Join(dir, "add.csv"), "--list", filepath.Join(dir, "sdn_comments.csv"), "--family", "order_.*|given_first")
	require.NoError(t, err)
	require.Contains(t, text, "list SDN_CSV, 1 strong names")
	require.Contains(t, text, "given_first")

	requireUsage(t, "--list", "match", "eval", "--families", "--list", filepath.Join(dir, "nowhere.xml"))
	broken := filepath.Join(dir, "sdn_enhanced.xml")
	require.NoError(t, os.WriteFile(broken, []byte("<a/>"), 0o600))
	_, _, err = runCommand(t, "match", "eval", "--families", "--list", broken)
	require.ErrorContains(t, err, "sdn_enhanced.xml")
}

// A family below its floor makes the exit code 1, and is named with its share.
func TestMatchEvalHoldsFloors(t *testing.T) {
	floors := filepath.Join(t.TempDir(), "floors.txt")
	write := func(text string) {
		require.NoError(t, os.WriteFile(floors, []byte(text), 0o600))
	}
	write("given_first 100\njoined_slip 99.5\n")
	_, _, err := runCommand(t, "match", "eval", "--families", "--family", "given_first", "--floors", floors)
	require.NoError(t, err, "a floor of a family that is not measured does not count")
	text, _, err := runCommand(t, "match", "eval", "--families", "--family", "given_first|joined_slip", "--floors", floors)
	require.ErrorContains(t, err, "1 of 2 families are outside their floors")
	require.ErrorContains(t, err, "joined_slip: ")
	require.ErrorContains(t, err, "at least 99.50")
	require.Contains(t, text, "joined_slip", "the table is shown nevertheless")
	write("given_frist 100\n")
	requireUsage(t, `there is no family "given_frist"`, "match", "eval", "--families", "--floors", floors)
}

func TestMatchEvalRefusesWrongFlags(t *testing.T) {
	for line, word := range map[string]string{
		"": "--families is required", "--families --sample -1": "--sample", "--families --misses -1": "--misses", "--families --misses 100000": "--misses", "--families --family (": "--family",
		"--families --family nobody": "none of the", "--families -o xml": "--output", "--families --screening CONS": "--screening", "--families --floors nowhere.txt": "--floors", "--families --list nowhere.xml": "--list", "--families more": "more",
	} {
		requireUsage(t, word, append([]string{"match", "eval"}, strings.Fields(line)...)...)
	}
}
