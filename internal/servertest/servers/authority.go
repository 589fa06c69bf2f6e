package main

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"os"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
)

// startAuthority runs Pebble, the test authority of Let's Encrypt, over plain HTTP; the
// test puts TLS in front of it.
func startAuthority(options []byte) (server, error) {
	var given struct {
		Names                 string
		HTTPPort              int
		CustomersOnly         bool
		Customer, CustomerKey string
	}
	if err := json.Unmarshal(options, &given); err != nil {
		return server{}, err
	}
	// Pebble would wait up to five seconds ahead of each check.
	if err := os.Setenv("PEBBLE_VA_NOSLEEP", "1"); err != nil {
		return server{}, err
	}
	quiet := slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	store := db.NewMemoryStore()
	if err := store.AddExternalAccountKeyByID(given.Customer, given.CustomerKey); err != nil {
		return server{}, err
	}
	signer := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{
		"default": {Description: "three months", ValidityPeriod: 90 * 24 * 3600}})
	checker := va.New(quiet, given.HTTPPort, 0, false, given.Names, store)
	front := wfe.New(quiet, store, checker, signer, []string{"pebble.test"}, false,
		given.CustomersOnly, 0, 0)
	address, err := serveHandler("127.0.0.1", front.Handler())
	return server{control: http.NotFoundHandler(), ready: map[string]string{
		"Address": address, "DirectoryPath": wfe.DirectoryPath,
		"Root": string(signer.GetRootCert(0).PEM())}}, err
}
