// SPDX-License-Identifier: Apache-2.0

// Go's official client: reads every endpoint of `trips`; prints rows, the sum of ids, null zones.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

func run(address string) error {
	ctx := context.Background()
	client, err := flight.NewClientWithMiddleware(address, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer client.Close()
	info, err := client.GetFlightInfo(ctx, &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{"trips"}})
	if err != nil {
		return err
	}
	rows, sum, nulls := int64(0), int64(0), 0
	for _, endpoint := range info.Endpoint {
		stream, err := client.DoGet(ctx, endpoint.Ticket)
		if err != nil {
			return err
		}
		reader, err := flight.NewRecordReader(stream)
		if err != nil {
			return err
		}
		for reader.Next() {
			batch := reader.Record()
			rows += batch.NumRows()
			for _, id := range batch.Column(0).(*array.Int64).Int64Values() {
				sum += id
			}
			nulls += batch.Column(2).NullN()
		}
		if reader.Err() != nil {
			return reader.Err()
		}
		reader.Release()
	}
	fmt.Println(rows, sum, nulls)
	return nil
}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
