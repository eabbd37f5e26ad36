package port

import (
	"fmt"

	"github.com/VictoriaMetrics/metrics"
)

// Names of the metrics of this room. They count over all nodes of a process.
var (
	handshakesRefused   = metrics.NewCounter("railguard_cluster_handshakes_refused_total")
	foreignKeys         = metrics.NewCounter("railguard_cluster_foreign_keys_refused_total")
	callErrors          = metrics.NewCounter("railguard_cluster_peer_call_errors_total")
	rpcsRefused         = metrics.NewCounter("railguard_cluster_raft_rpcs_refused_total")
	certificatesRenewed = metrics.NewCounter("railguard_cluster_certificates_renewed_total")
	certificateErrors   = metrics.NewCounter("railguard_cluster_certificate_errors_total")
)

// CountForeignKey counts a node that is refused because the group knows its name by another key, or
// does not know it.
func CountForeignKey() { foreignKeys.Inc() }

// newCertificateGauge returns the gauge of a node with given certificates.
func newCertificateGauge(id string) *metrics.Gauge {
	return metrics.GetOrCreateGauge(fmt.Sprintf("railguard_cluster_certificate_expires_seconds{node=%q}", id), nil)
}
