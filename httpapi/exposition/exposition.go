package exposition

import (
	"bytes"
	"io"
	"strings"

	"github.com/VictoriaMetrics/metrics"

	"railguard/cluster/timing"
)

// Help has one line per metric family, for Prometheus and docs/METRICS.md. A test checks
// that it names each family that is shown.
var Help = map[string]string{
	"railguard_agents_registered_with_match_total":       "Agents issued although their operator is listed; they are blocked.",
	"railguard_audit_bytes_appended_total":               "Bytes written to history, before sealing.",
	"railguard_audit_damage_found_total":                 "Damaged places found in history on this disk, at a start or later; written again from the log, or fetched from peers.",
	"railguard_audit_leaves_appended_total":              "Leaves written to history.",
	"railguard_audit_leaves_imported_total":              "Leaves fetched from peers.",
	"railguard_audit_leaves_replayed_total":              "Leaves read again at a start and found equal.",
	"railguard_audit_seal_errors_total":                  "Segments that could not be finished.",
	"railguard_audit_segments_erased_total":              "Segments erased in part or whole after retention.",
	"railguard_audit_segments_sealed_total":              "Segments finished.",
	"railguard_build_info":                               "1; which binary answers.",
	"railguard_cluster_applied_index":                    "Index of the last entry applied here.",
	"railguard_cluster_apply_lag_entries":                "Entries committed and not applied here.",
	"railguard_cluster_certificate_errors_total":         "Certificate files refused.",
	"railguard_cluster_certificate_expires_seconds":      "Time until this node's certificate for the port, or what vouches for it, ends; only with --cluster-cert.",
	"railguard_cluster_certificates_renewed_total":       "Certificate files taken up.",
	"railguard_cluster_clock_offset_seconds":             "How far this clock is from the quorum's.",
	"railguard_cluster_commit_index":                     "Index of the last entry known to be committed.",
	"railguard_cluster_commit_seconds":                   "Time from proposal to committed.",
	"railguard_cluster_digest_mismatches_total":          "Times this node's state differed from the group's: it stops itself.",
	"railguard_cluster_disk_free_bytes":                  "Free bytes of the data disk; -1: not known.",
	"railguard_cluster_disk_level":                       "What follows from it: 0 room, 1 getting full, 2 low (not ready, no leadership), 3 full (the node stops); -1: not known. A mark is a share or a size, whichever is less.",
	"railguard_cluster_disk_free_ratio":                  "Free part of the data disk, 0 to 1; -1: not known.",
	"railguard_cluster_elections_total":                  "Elections this node stood in.",
	"railguard_cluster_disk_stalled":                     "1 while a write to the disk does not return: the node does not lead.",
	"railguard_cluster_disk_stalls_total":                "Writes that took so long that the node gave up to lead.",
	"railguard_cluster_entries_applied_total":            "Log entries applied.",
	"railguard_cluster_entries_proposed_total":           "Log entries proposed by this node as leader.",
	"railguard_cluster_foreign_keys_refused_total":       "Times a node was refused that has the cluster secret and is no member, or has another key than the member of its name.",
	"railguard_cluster_handshakes_refused_total":         "Connections between nodes refused: wrong secret, wrong cluster, or a stranger.",
	"railguard_cluster_compiles_late_total":              "Lists whose tables were not made within a minute beside verdicts, and were then made without rests.",
	"railguard_cluster_heartbeats_failed_total":          "Heartbeats of this node as leader that a peer did not answer.",
	"railguard_cluster_history_incomplete":               "1 while history is fetched from peers.",
	"railguard_cluster_history_pieces_refused_total":     "Pieces of history from peers that did not lead to the root: a peer's disk is damaged.",
	"railguard_cluster_leader_changes_total":             "Changes of leader seen by this node.",
	"railguard_cluster_leads":                            "1 while this node leads and serves.",
	"railguard_cluster_log_bytes_since_snapshot":         "Bytes of log applied since the newest snapshot.",
	"railguard_cluster_list_damage_found_total":          "Damaged files of sanctions lists found on this disk; replaced from the state or a peer.",
	"railguard_cluster_log_write_errors_total":           "Writes of the log that the disk refused.",
	"railguard_cluster_log_write_seconds":                "Time of one durable write of the log.",
	"railguard_cluster_oldest_log_age_seconds":           "How long a peer may be away and still come back without a snapshot.",
	"railguard_cluster_peer_call_errors_total":           "Calls between nodes that failed.",
	"railguard_cluster_proposals_forwarded_total":        "Calls that this node sent on to the leader; of railguard_http_requests_total it is the part that did not meet the leader at once.",
	"railguard_cluster_proposals_overloaded_total":       "Calls answered 503 overloaded.",
	"railguard_cluster_proposals_unknown_total":          "Calls answered 503 with outcome unknown.",
	"railguard_cluster_proposals_unserved_total":         "Calls answered 503 with outcome none.",
	"railguard_cluster_proposals_waiting":                "Calls that wait for their entry.",
	"railguard_bundles_failed_total":                     "Attempts of this node to write an examiner's bundle into --bundle-dir that failed; each is tried again.",
	"railguard_bundles_missing":                          "Periods that are over and have no bundle in --bundle-dir yet.",
	"railguard_bundles_written_total":                    "Examiner's bundles that this node wrote into --bundle-dir.",
	"railguard_cluster_raft_rpcs_refused_total":          "Raft messages refused.",
	"railguard_cluster_records_applied_total":            "Records applied.",
	"railguard_cluster_records_fenced_total":             "Records of a leader that lost its term.",
	"railguard_cluster_records_proposed_total":           "Records in the entries proposed by this node as leader.",
	"railguard_cluster_records_retried_total":            "Fenced records proposed again.",
	"railguard_cluster_read_index_questions_total":       "Questions of this node to the leader how far the log goes; one serves all reads that came before it.",
	"railguard_cluster_silent":                           "1 while the node answers nothing that rests on the replicated state: it starts, or nobody has confirmed lately that it is up to date.",
	"railguard_cluster_snapshot_errors_total":            "Snapshots that failed.",
	"railguard_cluster_snapshot_index":                   "Index of the newest snapshot.",
	"railguard_cluster_snapshot_seconds":                 "Time to take a snapshot.",
	"railguard_cluster_snapshot_taken_timestamp_seconds": "When the last snapshot was taken; 0: none since the start.",
	"railguard_cluster_restore_seconds":                  "Time from a snapshot that a leader sent to the state of today.",
	"railguard_cluster_restoring":                        "1 while the node restores a snapshot that a leader sent: it has an older state and asks for no votes.",
	"railguard_cluster_snapshots_restored_total":         "Snapshots taken over from a leader or at a start.",
	"railguard_cluster_snapshots_total":                  "Snapshots taken.",
	"railguard_cluster_term":                             "Raft's term.",
	"railguard_cluster_terms_led_total":                  "Terms this node has led.",
	"railguard_cluster_voters":                           "Voters of the group.",
	"railguard_cluster_voters_answering":                 "Voters that answer this node, itself included.",
	"railguard_cluster_judges_otherwise":                 "1 while a node answers sample questions otherwise than this one with the same list and matcher.",
	"railguard_cluster_other_lineage":                    "1 while a node of another recovery of this cluster was met within five minutes.",
	"railguard_cluster_time_unconfirmed":                 "1 while no leader opens its term because the clocks are further beyond the log than is credible.",
	"railguard_cluster_log_time_behind_seconds":          "How far log time is behind the clocks of a quorum; below 0: ahead of them.",
	"railguard_cluster_votes_retired_total":              "Votes taken from voters that did not answer for --dead-after.",
	"railguard_http_connections_dropped_total":           "Connections closed because their address had too many.",
	"railguard_http_in_flight":                           "Calls being answered.",
	"railguard_http_internal_errors_total":               "Answers 500: faults of ours.",
	"railguard_http_log_lines_dropped_total":             "Lines about refused calls that were not written: at most 20 a second are.",
	"railguard_contained_panics_total":                   "Panics in background work that ended one piece of it: faults of ours.",
	"railguard_http_panics_total":                        "Calls that ended in a panic: faults of ours.",
	"railguard_http_rate_limited_total":                  "Answers 429.",
	"railguard_http_certificate_errors_total":            "Looks at the certificate files of a listener (public, admin) that found them of no use: the ones before them stay. It looks at most every five seconds.",
	"railguard_http_certificate_expires_seconds":         "Time until the certificate of a listener (public, admin) ends; only where it has one.",
	"railguard_http_refused_total":                       "Refused calls by the code that they were answered with and by route; those to /livez and /readyz are not counted.",
	"railguard_http_requests_total":                      "Answers by status; those to /livez and /readyz are not counted.",
	"railguard_http_shed_total":                          "Calls answered 503 overloaded before they waited, because more came than this node answers.",
	"railguard_http_silent_total":                        "Calls answered 503 because the node was silent.",
	"railguard_http_unauthorized_total":                  "Answers 401.",
	"railguard_idempotent_replays_total":                 "Answers given again for an Idempotency-Key.",
	"railguard_keys_ending":                              "API keys used within the last week that end within 14 days.",
	"railguard_key_rate_used_ratio":                      "What was asked of this node by an API key lately, of the key's rate for the whole cluster (sum over the nodes; above 1 the rest is 429): the 20 keys that ask most.",
	"railguard_limit_denied_total":                       "Verdicts decided by R10, R11 or R12.",
	"railguard_log_cosignatures":                         "Cosignatures under the newest checkpoint that witnesses cosigned; 0: none.",
	"railguard_log_cosigned_age_seconds":                 "How old that checkpoint is, by log time; 0 where it is of all leaves; -1: none.",
	"railguard_log_quorum_age_seconds":                   "How old the newest checkpoint is that meets the policy of witnesses, by log time; 0 where it is of all leaves; -1: none, or no quorum is demanded.",
	"railguard_log_quorum_met":                           "1: that checkpoint is at most a minute behind the log; 0: it is not; -1: no quorum is demanded.",
	"railguard_log_witness_answers_total":                "Witnesses asked by this node as leader, by what came of it.",
	"railguard_log_witnesses":                            "Witnesses in this node's settings.",
	"railguard_log_tree_size":                            "Leaves of the audit log.",
	"railguard_looks_lost_total":                         "Looks, or counts of them, that found no room and are not in the audit log; those of people stand in the node's log lines.",
	"railguard_ofac_age_seconds":                         "Time since the last sync of the list in force; -1: no list.",
	"railguard_list_age_seconds":                         "Since a list beside OFAC's was last imported, by its number in GET /v1/lists.",
	"railguard_list_late":                                "Whether a list beside OFAC's was not imported for longer than it may be (0, 1), by its number in GET /v1/lists.",
	"railguard_ofac_families_missing":                    "Families (SDN, CONS) that the list in force has no entry of.",
	"railguard_ofac_publication_age_seconds":             "Time since the core sources of the list in force were published, however often a source confirmed them; -1: not known, or no list.",
	"railguard_ofac_quarantined":                         "Malformed entities that were left out of the list in force.",
	"railguard_ofac_sync_failures_total":                 "Fetches of lists by this node that failed.",
	"railguard_ofac_syncs_total":                         "Fetches of lists by this node.",
	"railguard_raft_append_entries_asked_seconds":        "A peer's log write with its round trip, as the leader sees it.",
	"railguard_raft_append_entries_served_seconds":       "A log write asked for by the leader, as this node sees it.",
	"railguard_raft_fsm_apply_seconds":                   "Time to apply an entry.",
	"railguard_raft_fsm_restore_seconds":                 "Time to restore a snapshot.",
	"railguard_raft_heartbeat_timeouts_total":            "How often this node gave up on the leader.",
	"railguard_raft_install_snapshot_seconds":            "Time to take a snapshot from the leader.",
	"railguard_raft_last_contact_seconds":                "Time since the leader last heard from a quorum.",
	"railguard_raft_lease_timeouts_total":                "How often this node gave up leading.",
	"railguard_raft_snapshot_persist_seconds":            "Time to write a snapshot.",
	"railguard_reconciliation_age_seconds":               "Since a rail was last compared with the log, by log time; -1: it was not within 90 days, or older leaves are still being read.",
	"railguard_reconciliation_findings":                  "What that comparison found, by class.",
	"railguard_reconciliation_overdue":                   "Whether a rail was not compared for longer than the policy's reconcile allows (0, 1); -1: older leaves are still being read.",
	"railguard_registrations_refused_total":              "Registrations refused because the operator is listed.",
	"railguard_review_oldest_age_seconds":                "How long the oldest open review has waited; 0: none waits, -1: not known.",
	"railguard_alerts_open":                              "Alerts that nobody has acknowledged, by kind; -1: not known.",
	"railguard_alerts_unlisted_total":                    "Alerts that are a leaf and an event alone: 65,536 are open.",
	"railguard_sar_open":                                 "Suspicious activity reports that are not filed; -1: not known.",
	"railguard_sanctions_cases_open":                     "Sanctions cases whose report is still to be made; -1: not known.",
	"railguard_sanctions_cases_due_soon":                 "Of those, the ones whose ten business days are over within two days; -1: not known.",
	"railguard_sanctions_cases_overdue":                  "Of those, the ones whose ten business days are over; -1: not known.",
	"railguard_sanctions_property_blocked":               "Sanctions cases of property that is blocked; -1: not known.",
	"railguard_sar_overdue":                              "Of those, the ones whose 30 days are over; -1: not known.",
	"railguard_sar_unlisted_total":                       "Escalations without a report: their table is full.",
	"railguard_review_overdue":                           "Open reviews that wait longer than the policy's review.sla; -1: not known.",
	"railguard_review_open":                              "Reviews that wait; -1: not known.",
	"railguard_screen_forged_tokens_total":               "Tokens whose signature does not verify.",
	"railguard_screen_rejudged_total":                    "Screening calls judged again because something changed under them.",
	"railguard_screen_seconds":                           "Time of a screening call by stage: verify, rules, commit, total.",
	"railguard_streams_open":                             "Streams of payments that are open.",
	"railguard_stream_lines_total":                       "Lines of streams that were answered; verdicts among them count in railguard_screen_total, too.",
	"railguard_screen_total":                             "Verdicts by rule.",
	"railguard_settle_marked_total":                      "Settles that a person must look at: late (after a release or an expiry), overLimit (a total went above its limit), notAllowed (no payment that was allowed).",
	"railguard_payments_unresolved":                      "Payments that still count and of which nobody has said what became of them; -1: not known.",
	"railguard_payments_unresolved_usd":                  "Their sum in USD; -1: not known.",
	"railguard_shares_refused_total":                     "Calls refused because their owner has used its share of a table (429 share_used).",
	"railguard_state_bytes":                              "Bytes of memory that the rows of a table take, by what a row costs and what profiles have beyond the ordinary.",
	"railguard_state_bytes_max":                          "The bound of that: a full table.",
	"railguard_state_greatest_bytes":                     "The most bytes that one owner has in a table; found anew every few seconds.",
	"railguard_state_greatest_rows":                      "The most rows that one owner has in a table; found anew every few seconds.",
	"railguard_state_share_bytes":                        "The bytes that each owner has for itself in a table, whatever the others do.",
	"railguard_state_share_rows":                         "The rows that each owner has for itself in a table, whatever the others do.",
	"railguard_state_rows":                               "Rows of a table of the state that has a bound; -1: not known.",
	"railguard_state_rows_max":                           "The bound of that table: what would go beyond it is refused.",
	"railguard_structuring_displaced_total":              "Pairs of agent and counterparty that R25 forgot although they still counted: its table is full.",
	"railguard_judging_waiting":                          "Calls that wait for a processor to be judged, on this node.",
	"railguard_judging_refused_total":                    "Calls refused because too much judging of their owner waited already.",
	"railguard_judging_charged_calls_total":              "Screening calls that keys were charged for dear names, beyond one for each call.",
	"railguard_token_cache_entries":                      "Verified tokens remembered.",
	"railguard_token_cache_hits_total":                   "Tokens found among those verified.",
	"railguard_token_cache_misses_total":                 "Tokens verified anew.",
	"railguard_traces_dropped_total":                     "Sampled calls whose trace was dropped: the collector is away, or too many came.",
	"railguard_traces_sent_total":                        "Sampled calls whose trace the collector took.",
	"railguard_backup_copies_total":                      "Copies by the cluster's own schedule that this node wrote and read back, by kind.",
	"railguard_backup_drill_failed":                      "1: the last rehearsal of a restore failed.",
	"railguard_backup_drilled_seconds":                   "Log time of the last rehearsal of a restore, in Unix seconds; 0: there was none.",
	"railguard_backup_failures_total":                    "Copies, tails, rehearsals and thinnings of the cluster's own backups that failed on this node.",
	"railguard_backup_scheduled":                         "1: the cluster copies itself by a schedule.",
	"railguard_backup_shipped_seconds":                   "Up to when all that was acknowledged is in the folder of backups, in Unix seconds, on the leader; 0 elsewhere.",
	"railguard_backup_verified_bytes":                    "Size of the newest verified copy.",
	"railguard_backup_verified_full_seconds":             "Log time of the newest verified full copy, in Unix seconds; 0: there is none.",
	"railguard_backup_verified_seconds":                  "Log time of the newest verified copy, in Unix seconds; 0: there is none.",
	"railguard_webhook_attempt_seconds":                  "Time of an attempt that was received.",
	"railguard_webhook_attempts_total":                   "Attempts to send an event to a webhook, by what came of them.",
	"railguard_webhook_behind_leaves":                    "Leaves that the webhook furthest back is behind, on the leader; most leaves are no events.",
	"railguard_webhook_dead_letters_total":               "Events that were given up after the last attempt.",
	"railguard_webhook_lines":                            "Webhooks that this node sends to: the leader to all that are on.",
	"railguard_webhook_missed_total":                     "Times a webhook was away for longer than events are kept, or history that no node could give was passed over for it after a day: what was there is lost to it.",
	"railguard_webhook_unreadable_seconds":               "How long the webhook that waits longest has waited for history that this node cannot read, on the leader.",
	"railguard_mcp_calls_total":                          "Calls of MCP tools by what came of them: result (any verdict) or error.",
	"railguard_gateway_calls_total":                      "Requests that gateways asked about here, by what they were told.",
	"railguard_x402_calls_total":                         "x402 payments verified and settled here, by what they were told.",
	"railguard_x402_unbooked_total":                      "x402 payments that were made and could not be booked: the log names them, settle each by hand.",
	"railguard_x402_upstream_seconds":                    "Time of a call of the x402 facilitator behind.",
}

// helpOf returns the help of a family. The library has its own for the Go runtime and the
// process.
func helpOf(family string) string {
	switch {
	case Help[family] != "":
		return Help[family]
	case strings.HasPrefix(family, "go_"):
		return "Of the Go runtime: runtime/metrics says more."
	case strings.HasPrefix(family, "process_"):
		return "Of the process, from /proc."
	}
	return ""
}

// unfit are library families whose names break Prometheus' conventions; other families have
// the same numbers.
var unfit = map[string]bool{"go_cgo_calls_count": true, "go_cpu_count": true, "go_gc_forced_count": true}

// Write writes the sets in Prometheus' text format 0.0.4, each family with its
// HELP and TYPE.
func Write(w io.Writer, sets ...*metrics.Set) error {
	metrics.ExposeMetadata(true)
	var raw, out bytes.Buffer
	metrics.WritePrometheus(&raw, true)
	metrics.WriteFDMetrics(&raw)
	for _, set := range sets {
		set.WritePrometheus(&raw)
	}
	family := ""
	for line := range strings.Lines(raw.String()) {
		if name, isHelp := strings.CutPrefix(line, "# HELP "); isHelp {
			family = strings.TrimSpace(name)
			line = "# HELP " + family + " " + helpOf(family) + "\n"
		}
		if line == "# TYPE "+family+" gauge\n" && strings.HasSuffix(family, "_total") {
			line = "# TYPE " + family + " counter\n"
		}
		if !unfit[family] {
			out.WriteString(line)
		}
	}
	if err := timing.Write(&out, helpOf); err != nil {
		return err
	}
	_, err := w.Write(out.Bytes())
	return err
}
