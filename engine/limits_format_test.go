package engine

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// limitsGolden holds the limits of each format. A line is never edited: another bound is
// another format, with a row and a line of its own.
var limitsGolden = map[Format]string{
	Format1: "Agents=16777216 Users=4194304 Fleets=262144 Operators=1048576 OpenReviews=4194304 Idempotency=1048576 " +
		"ClosedReviews=33554432 Structuring=1048576 APIKeys=10000 SigningKeys=64 Cleared=100000 Passkeys=20000 PasskeysOfPerson=8 ListHistory=256 ListsStaged=2 ListLeft=20 Removed=1024 LogLines=64 Holds=4194304 Outcomes=1048576 References=1048576 Proposals=65536 Alerts=65536 SARs=1048576 SanctionsAlerts=65536 SanctionsCases=65536 Works=16384 Drafts=2048 DraftsOfPerson=100 SecondLooks=16384 SecondLooksHeld=256 SecondLookKnown=16 DraftFields=64 DraftBytes=16384 ProposedActs=512 " +
		"Webhooks=1000 DeadLetters=65536 WebhooksOfOperator=32 Dues=67108864 Epochs=64 Statuses=67108864 AgentBytes=1073741824 FleetBytes=268435456 UserBytes=536870912 Depth=3 Children=1000 FleetAgents=100000 " +
		"UserAgents=64 WhitelistEntries=2000 HoursWindows=64 HoursHolidays=400 HoursTransitions=256 Attestations=8 Comments=256 CommentsOfKey=32 DryRuns=200 " +
		"FieldBytes=256 OperatorNameBytes=8192 OperatorWallets=64 KeyIDBytes=64 RecordBytes=262144 FragmentBytes=53247 FilterKeys=24 ListBytes=100663296 ListChunkBytes=131072 " +
		"RecordTargets=500 ForgottenAtOneTime=1024 ExpiredAtOneTick=2048 HoldSecondsLeast=30 HoldSecondsMost=604800 PermitSecondsLeast=60 PermitSecondsMost=300 ConfirmsMost=16 PermitHoldBeyond=60 URLBytes=2048 EventTypes=128 SealedBytes=512 StatusVersions=64 AgentValidity=7862400000000000 UserValidity=2592000000000000 " +
		"UserStored=2678400000000000 AttestationValidity=86400000000000 AttestationStored=90000000000000 Retention=7776000000000000 LivedAtOnce=3600000000000 " +
		"IdempotencyKept=86400000000000 ClaimLease=600000000000 DraftKept=1209600000000000 SecondLookKept=691200000000000 SecondLookLease=3600000000000 Overlap=604800000000000 ReferenceKept=2592000000000000 " +
		"ProposalKept=86400000000000 SARDue=2592000000000000 DeadLetterKept=2592000000000000 SessionMost=86400000000000 ExpiryNotice=604800000000000 AttestationNotice=3600000000000 StatusEvery=60000000000 ListAhead=172800000000000 ListPeak=7776000000000000 ",
}

func TestLimitsOfEveryFormat(t *testing.T) {
	for format := Format1; format <= FormatNewest; format++ {
		text := ""
		for _, group := range []any{LimitsOf(format).TableLimits, LimitsOf(format).RowLimits, LimitsOf(format).TimeLimits} {
			limits := reflect.ValueOf(group)
			for i := range limits.NumField() {
				require.False(t, limits.Field(i).IsZero(), limits.Type().Field(i).Name)
				value := limits.Field(i).Interface()
				if at, isTime := value.(Time); isTime {
					value = int64(at)
				}
				text += fmt.Sprintf("%s=%d ", limits.Type().Field(i).Name, value)
			}
		}
		require.Equal(t, 3, reflect.TypeFor[Limits]().NumField())
		require.Equal(t, limitsGolden[format], text)
	}
	require.Panics(t, func() { LimitsOf(0) })
	require.Panics(t, func() { LimitsOf(FormatNewest + 1) })
}

// TestEdgesStayWithinTheFormat: an edge accepts nothing that Apply of the newest format
// refuses, and promises no other durations than Apply gives.
func TestEdgesStayWithinTheFormat(t *testing.T) {
	l := LimitsOf(FormatNewest)
	for name, pair := range map[string][2]int{
		"whitelist": {WhitelistMax, l.WhitelistEntries}, "page": {PageMax, l.RecordTargets}, "field": {FieldMax, l.FieldBytes},
		"user's agents": {UserAgentsMax, l.UserAgents}, "windows": {WindowsMax, l.HoursWindows}, "holidays": {HolidaysMax, l.HoursHolidays},
		"fragment": {LeafMax - 12*KiB, l.FragmentBytes}, "record": {PolicyRecordMax, l.RecordBytes}, "list": {ListMax, l.ListBytes},
		"chunk": {ListChunkMax, l.ListChunkBytes}, "signing keys": {SigningKeysMax, l.SigningKeys}, "depth": {DepthMax, int(l.Depth)},
		"comments": {CommentsKept, l.Comments}, "a key's comments": {CommentsOfKeyMax, l.CommentsOfKey},
	} {
		require.LessOrEqual(t, pair[0], pair[1], name)
	}
	require.Equal(t, []Time{AgentValidity, UserValidity, UserStored, AttestationValidity, AttestationStored, Retention, OverlapMax},
		[]Time{l.AgentValidity, l.UserValidity, l.UserStored, l.AttestationValidity, l.AttestationStored, l.Retention, l.Overlap})
}
