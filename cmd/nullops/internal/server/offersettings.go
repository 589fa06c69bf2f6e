package server

import (
	"fmt"
	"time"

	"github.com/nullops/nullops/agent/offer"
)

// OfferSettings is how a site decides what a reactive node takes. Without a program or a
// webhook the node declines everything.
type OfferSettings struct {
	Command []string `description:"Program that decides, and its arguments; a list."`
	URL     string   `description:"Webhook that decides, instead: https, or http on this machine."`
	File    string   `description:"File that holds a bearer token for the webhook."`
	Timeout string   `description:"How long a decision may take; at most 15s."`
}

func defaultOffers() OfferSettings {
	return OfferSettings{Timeout: offer.DefaultTimeout.String()}
}

func (o OfferSettings) check() error {
	timeout, err := time.ParseDuration(o.Timeout)
	if err != nil || timeout <= 0 {
		return fmt.Errorf("setting agent.offers.timeout: %q is not a time; write one like %s",
			o.Timeout, offer.DefaultTimeout)
	}
	if err := o.config().Check(); err != nil {
		return fmt.Errorf("setting agent.offers: %w", err)
	}
	return nil
}

func (o OfferSettings) config() offer.Config {
	timeout, _ := time.ParseDuration(o.Timeout) // check has read it before
	return offer.Config{Command: o.Command, URL: o.URL, TokenFile: o.File, Timeout: timeout}
}
