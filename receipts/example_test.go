package receipts_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"countersign/receipts"
)

// A slip, one receipt under it, and the check of the book they make.
func Example() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	agent, err := receipts.CreateSigner(filepath.Join(folder, "keys", "agent.json"), nil)
	if err != nil {
		log.Fatal(err)
	}
	person, err := receipts.NewDevelopmentPasskey("Sam Example", "http://localhost:8797", nil)
	if err != nil {
		log.Fatal(err)
	}
	id, err := receipts.NewID(rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	from, _ := receipts.ParseTime("2026-10-05T08:00:00Z")
	slip := receipts.Slip{
		ID:         id,
		Agent:      receipts.Agent{Keys: agent.Keys(), Name: receipts.Covered{Text: "Office agent"}},
		Actions:    []string{"provared.order.place"},
		Limits:     []receipts.Limit{{Action: "provared.order.place", Kind: receipts.LimitMax, Bound: 200, Unit: "GBP"}},
		ValidFrom:  from,
		ValidUntil: from + 7*24*60*60,
		Purpose:    receipts.Covered{Text: "Keep the office stocked"},
	}
	record, err := person.SignSlip(&slip)
	if err != nil {
		log.Fatal(err)
	}
	book := append(receipts.AppendLine(nil, receipts.KindSlip, record), '\n')

	options := receipts.CheckOptions{IssuerKeys: []string{person.Issuer().Key.Thumbprint()}}
	checker := receipts.NewChecker(options)
	checker.Add(bytes.TrimSuffix(book, []byte("\n")))
	fingerprint := receipts.Fingerprint(slip.Append(nil))
	for _, price := range []int64{150, 60} {
		proposal := receipts.Proposal{Slip: fingerprint, Action: "provared.order.place", Amount: &receipts.Amount{Unit: "GBP", Value: price}, When: from + 3600}
		answer := checker.Before(proposal)
		if first, refused := answer.First(); refused {
			fmt.Println(price, "GBP:", first)
			continue
		}
		stub := receipts.Stub{Slip: fingerprint, Action: proposal.Action, Amount: proposal.Amount, When: proposal.When}
		if stub.ID, err = receipts.NewID(rand.Reader); err != nil {
			log.Fatal(err)
		}
		signed, err := agent.Sign(receipts.KindStub, stub.Append(nil))
		if err != nil {
			log.Fatal(err)
		}
		line := receipts.AppendStubLine(nil, signed, nil, nil)
		checker.AddOwn(line)
		book = append(append(book, line...), '\n')
		fmt.Println(price, "GBP: receipted")
	}

	report, err := receipts.VerifyBook(bytes.NewReader(book), options)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("intact:", report.Summary.Intact, "within:", report.Summary.WithinSlips, "a stand-in signed:", report.Summary.Development)
	// Output:
	// 150 GBP: receipted
	// 60 GBP: over-limit: the sum of amounts is above the limit
	// intact: true within: true a stand-in signed: true
}
