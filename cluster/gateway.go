package cluster

import (
	"errors"
	"net"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/datadir"
	"railguard/cluster/port"
)

// gateway is the one port between nodes, with raft's network over it. It is opened before the
// replica exists, and accepts nothing before beginServing.
type gateway struct {
	config  *Config
	life    *life
	folder  *datadir.Folder
	replica *replica
	greeter *greeter

	certificates *port.Keeper // nil: no certificates given.
	transport    port.Transport
	door         port.Door // The door of the port, from its start on.

	behind port.Behind // Whether this node's log begins right behind an entry, which is in its snapshot.

	// committed tells raft a leader's commit index.
	committed func(leader string, term, index uint64)
}

// openPort binds the port between nodes and makes raft's network over it. Nothing is
// accepted before the node's state is loaded.
func (w *gateway) openPort(service *port.Service) (err error) {
	w.greeter.address = port.Address{Host: w.config.Advertise, Incarnation: w.folder.Identity().Incarnation}
	if w.config.ListenCluster == "" {
		w.greeter.address.Host = w.config.ID
		w.transport, w.committed = port.LoneTransport(w.greeter.address), func(string, uint64, uint64) {}
		return nil
	}
	w.life.log.Info("this node's key", "key", w.folder.Key().Digest())
	proof, err := w.portProof()
	if err != nil {
		return err
	}
	if w.greeter.mux, err = port.Listen(w.config.Network, proof, w.config.ListenCluster, w.life.log); err != nil {
		return err
	}
	if w.certificates != nil {
		w.certificates.OnChange(w.greeter.mux.ProveAnew)
	}
	if w.greeter.address.Host == "" {
		w.greeter.address.Host = w.greeter.mux.Addr()
	}
	transport := port.NewPeerTransport(w.greeter.address, newRaftLogger(w.life.log),
		func() uint64 { return w.replica.raft.CurrentTerm() },
		func(id string, to port.Address, timeout time.Duration) (net.Conn, error) {
			return w.greeter.dialNode(to.Host, port.ProtocolRaft, id, to.Incarnation, timeout)
		},
		func(id raft.ServerID) (raft.ServerAddress, error) {
			server, known := w.replica.findServer(id)
			if !known {
				return "", port.ErrNoPeer
			}
			return server.Address, nil
		})
	transport.AcceptBehind(w.behind)
	transport.TellCommits(func() uint64 { return w.replica.raft.CommitIndex() })
	w.transport, w.committed = transport, transport.Committed
	w.door = port.Door{Arrival: w.greeter.noteArrival, Raft: transport.Receive, Calls: service.Serve}
	return nil
}

// portProof returns a function that gives the authority by which nodes prove themselves on the
// port. nil means that they are believed without proof.
func (w *gateway) portProof() (func() *port.Authority, error) {
	if w.config.Insecure {
		return nil, nil
	}
	if w.config.Certificates.Given() {
		var err error
		if w.certificates, err = port.OpenCertificates(w.config.Certificates, w.config.ID, w.config.wallTime, w.life.log); err != nil {
			return nil, err
		}
		return w.certificates.Current, nil
	}
	drawn, err := port.NewAuthority(w.config.Secret, w.config.ID, w.folder.Key(), w.config.SecretsAlso...)
	return func() *port.Authority { return drawn }, err
}

func (w *gateway) closeGateway() error {
	var errs []error
	if w.transport != nil {
		errs = append(errs, w.transport.Close())
	}
	if w.greeter != nil && w.greeter.mux != nil {
		errs = append(errs, w.greeter.mux.Close())
	}
	return errors.Join(errs...)
}

// beginServing lets other nodes in. A group of one may have no port; then it does nothing.
func (w *gateway) beginServing() {
	if w.greeter.mux == nil {
		return
	}
	w.greeter.mux.Open(w.door)
	if w.certificates != nil {
		w.life.running.Go(func() { w.certificates.Run(w.life.stop) })
	}
}

// cutLinks closes all connections, for a process that goes on after its node ended.
func (w *gateway) cutLinks() {
	if err := w.transport.Close(); err != nil {
		w.life.log.Warn("transport not closed", "error", err)
	}
	if w.greeter.mux != nil {
		w.greeter.mux.Shut()
	}
}
