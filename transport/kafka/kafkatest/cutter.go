package kafkatest

import (
	"net"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kfake"
)

// Cutter closes connections at the moment at which a broker would answer.
type Cutter struct{ next atomic.Int32 }

// Listen makes brokers listen through the cutter.
func (c *Cutter) Listen() kfake.Opt {
	return kfake.ListenFn(func(network, address string) (net.Listener, error) {
		listener, err := net.Listen(network, address) //nolint:noctx // as the brokers in memory do by themselves
		if err != nil {
			return nil, err
		}
		return cutting{listener, c}, nil
	})
}

// Cut closes the connection instead of each of the next n answers.
func (c *Cutter) Cut(n int) { c.next.Store(int32(n)) }

type cutting struct {
	net.Listener
	cutter *Cutter
}

func (l cutting) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return cuttable{conn, l.cutter}, nil
}

type cuttable struct {
	net.Conn
	cutter *Cutter
}

func (c cuttable) Write(p []byte) (int, error) {
	if c.cutter.next.Load() > 0 && c.cutter.next.Add(-1) >= 0 {
		_ = c.Close()
		return 0, net.ErrClosed
	}
	return c.Conn.Write(p)
}
