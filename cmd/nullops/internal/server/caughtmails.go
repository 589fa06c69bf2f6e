package server

import (
	"fmt"

	"github.com/nullops/nullops/agent/mailbox"
)

// CaughtMailSettings bound the mails of deployments that are kept on a node.
type CaughtMailSettings struct {
	Deployment int `description:"MiB of mails kept for each deployment; 0 catches none."`
	Node       int `description:"MiB of mails kept for all deployments together."`
}

func defaultMails() CaughtMailSettings {
	d := mailbox.DefaultLimits()
	return CaughtMailSettings{Deployment: int(d.Bytes >> 20), Node: int(d.Total >> 20)}
}

func (s CaughtMailSettings) check() error {
	switch {
	case s.Deployment < 0:
		return fmt.Errorf("setting agent.mails.deployment: %d is not a number of MiB", s.Deployment)
	case s.Node < s.Deployment:
		return fmt.Errorf("setting agent.mails.node: %d MiB is less than agent.mails.deployment, which "+
			"is %d", s.Node, s.Deployment)
	}
	return nil
}

// limits is in the agent's terms: no size of a mail means that none is caught.
func (s CaughtMailSettings) limits() mailbox.Limits {
	if s.Deployment == 0 {
		return mailbox.Limits{}
	}
	l := mailbox.DefaultLimits()
	l.Bytes, l.Total = int64(s.Deployment)<<20, int64(s.Node)<<20
	l.Mail = min(l.Mail, l.Bytes)
	return l
}
