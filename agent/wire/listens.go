package wire

import (
	"net/netip"
	"strings"
)

// maxListens bounds what is taken from the header.
const maxListens = 8

// ListenAddrs are loopback addresses on which alone a service listens.
type ListenAddrs []netip.AddrPort

// String is how people read them, and the header's form.
func (l ListenAddrs) String() string {
	all := make([]string, len(l))
	for i, at := range l {
		all[i] = at.String()
	}
	return strings.Join(all, " and ")
}

// parseListens reads String's form, and takes nothing but loopback addresses: the
// page that shows them is public.
func parseListens(text string) (all ListenAddrs) {
	if text == "" {
		return nil
	}
	for part := range strings.SplitSeq(text, " and ") {
		at, err := netip.ParseAddrPort(part)
		if err != nil || !at.Addr().IsLoopback() || at.Addr().Zone() != "" || len(all) == maxListens {
			return nil
		}
		all = append(all, at)
	}
	return all
}
