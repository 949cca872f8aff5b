// SPDX-License-Identifier: Apache-2.0
// Converts the text of an ISO 8601 date, time of day or timestamp to a number of days or units:
// exact, or `ok_o` is low. The text is at the end of the window, without its closing quote; the
// opening one must be in the window too.
//
// Takes `YYYY-MM-DD`; a date, one of `T`, `t`, space, and a time; `HH:MM[:SS[.f]]` with up to nine
// digits of a fraction; after the time of a timestamp nothing, `Z`, `z` or `±HH:MM`. For all else
// `ok_o` is low: other text, values that do not fit the unit or the column, and the rarer offsets
// `±HH` and `±HHMM`.
//
// Latency: `LongLatency` cycles. Throughput: one per cycle. No stalls.
//
// Layer: json.

`default_nettype none

module as_json_time
  import as_json_pkg::*;
#(
    parameter int unsigned Window = 32
) (
    input logic clk_i,

    input logic [Window*8-1:0] text_i,
    input time_form_t          form_i,

    output logic [63:0] value_o,
    output logic        ok_o
);

  localparam int unsigned Date = 10;
  localparam int unsigned Clock = Window - Date - 1;
  localparam int unsigned Stages = 11;
  localparam int unsigned CountBits = as_stream_pkg::count_bits(Window);

  function automatic logic is_digit(input logic [7:0] c);
    return c >= "0" && c <= "9";
  endfunction
  function automatic logic [6:0] two(input logic [15:0] pair);
    logic unused;
    unused = ^{pair[15:12], pair[7:4]};
    return 7'(pair[3:0]) * 7'd10 + 7'(pair[11:8]);
  endfunction
  function automatic logic both(input logic [15:0] pair);
    return is_digit(pair[7:0]) && is_digit(pair[15:8]);
  endfunction

  // Side-band data, by the cycle that reads it.
  time_form_t form_q[Stages];
  logic ok_q[3:Stages-1];
  always_ff @(posedge clk_i) begin
    form_q[1] <= form_i;
    for (int unsigned i = 2; i < Stages; i++) form_q[i] <= form_q[i-1];
  end
  assign form_q[0] = form_i;

  // Cycles 1, 2: the text, moved to the start of the window.
  logic [CountBits-1:0] lead, lead_q, count_q;
  logic [Window*8-1:0] text_q, from_q;
  logic quote_q, quote_moved_q;
  always_comb begin
    lead = '0;
    for (int unsigned i = 0; i < Window; i++) if (text_i[i*8+:8] == 8'h22) lead = CountBits'(i + 1);
  end
  always_ff @(posedge clk_i) begin
    lead_q      <= lead;
    quote_q       <= lead != '0;
    text_q        <= text_i;
    from_q        <= text_q >> {lead_q, 3'b000};
    count_q       <= CountBits'(Window) - lead_q;
    quote_moved_q <= quote_q;
  end

  // Cycle 3: date and time of day.
  logic [Date*8-1:0] date_q;
  logic [Clock*8-1:0] clock_q;
  logic [CountBits-1:0] length_q;
  logic alone_q;
  logic between;
  assign between = from_q[Date*8+:8] == "T" || from_q[Date*8+:8] == "t" || from_q[Date*8+:8] == " ";
  always_ff @(posedge clk_i) begin
    date_q   <= from_q[Date*8-1:0];
    alone_q  <= count_q == CountBits'(Date) && form_q[2].kind != TimeOfDay;
    if (form_q[2].kind == TimeOfDay) begin
      clock_q  <= from_q[Clock*8-1:0];
      length_q <= count_q;
    end else begin
      clock_q  <= from_q[Window*8-1:(Date+1)*8];
      length_q <= count_q - CountBits'(Date + 1);
    end
    unique case (form_q[2].kind)
      TimeOfDay: ok_q[3] <= quote_moved_q && count_q >= CountBits'(5);
      TimeDate:  ok_q[3] <= quote_moved_q && count_q == CountBits'(Date);
      default:
        ok_q[3] <= quote_moved_q && (count_q == CountBits'(Date) || (count_q >= CountBits'(Date + 6) && between));
    endcase
  end

  // Cycle 4: the end of the time of day, and its parts; the parts of the date.
  logic seconds, fraction, clock_ok;
  logic [3:0] digits;
  logic [9:0] is_fraction;
  logic [4:0] end_at;
  logic [9:0] group[3];
  always_comb begin
    logic run;
    seconds  = clock_q[5*8+:8] == ":";
    fraction = seconds && clock_q[8*8+:8] == ".";
    run      = fraction;
    digits   = '0;
    for (int unsigned i = 0; i < 10; i++) begin
      run = run && is_digit(clock_q[(9+i)*8+:8]) && CountBits'(9 + i) < length_q;
      is_fraction[i] = run;
      digits += 4'(run);
    end
    for (int unsigned g = 0; g < 3; g++) begin
      group[g] = '0;
      if (is_fraction[g*3]) group[g] += 10'(clock_q[(9+g*3)*8+:4]) * 10'd100;
      if (is_fraction[g*3+1]) group[g] += 10'(clock_q[(10+g*3)*8+:4]) * 10'd10;
      if (is_fraction[g*3+2]) group[g] += 10'(clock_q[(11+g*3)*8+:4]);
    end
    end_at   = !seconds ? 5'd5 : !fraction ? 5'd8 : 5'd9 + 5'(digits);
    clock_ok = both(clock_q[0+:16]) && clock_q[2*8+:8] == ":" && both(clock_q[3*8+:16]) &&
               (!seconds || (both(clock_q[6*8+:16]) && length_q >= CountBits'(8))) &&
               (!fraction || (is_fraction[0] && !is_fraction[9]));
  end
  logic [Clock*8-1:0] zone_text_q;
  logic [CountBits-1:0] zone_length_q;
  logic [4:0] end_q;
  logic [9:0] group_q[3];
  logic [6:0] hour_q, minute_q, second_q, century_q, year_q, month_q, day_q;
  logic alone_more_q;
  always_ff @(posedge clk_i) begin
    zone_text_q   <= clock_q;
    end_q         <= end_at;
    zone_length_q <= length_q - CountBits'(end_at);
    hour_q        <= alone_q ? '0 : two(clock_q[0+:16]);
    minute_q      <= alone_q ? '0 : two(clock_q[3*8+:16]);
    second_q      <= alone_q || !seconds ? '0 : two(clock_q[6*8+:16]);
    for (int unsigned g = 0; g < 3; g++) group_q[g] <= alone_q ? '0 : group[g];
    century_q     <= two(date_q[0+:16]);
    year_q        <= two(date_q[2*8+:16]);
    month_q       <= two(date_q[5*8+:16]);
    day_q         <= two(date_q[8*8+:16]);
    alone_more_q  <= alone_q;
    ok_q[4] <= ok_q[3] && (alone_q || (clock_ok && length_q >= CountBits'(end_at))) &&
               (form_q[3].kind == TimeOfDay || (both(date_q[0+:16]) && both(date_q[2*8+:16]) && date_q[4*8+:8] == "-" &&
                both(date_q[5*8+:16]) && date_q[7*8+:8] == "-" && both(date_q[8*8+:16])));
  end

  // Cycle 5: the offset, and the day in a year that starts in March.
  logic [47:0] zone;
  logic zone_none, zone_utc, zone_ok, leap, date_ok;
  logic [6:0] zone_hour, zone_minute;
  logic [4:0] month_days;
  logic [8:0] month_begin;
  always_comb begin
    zone        = 48'(zone_text_q >> {end_q, 3'b000});
    zone_none   = alone_more_q || zone_length_q == '0;
    zone_utc    = zone_length_q == CountBits'(1) && (zone[7:0] == "Z" || zone[7:0] == "z");
    zone_hour   = two(zone[8+:16]);
    zone_minute = two(zone[32+:16]);
    zone_ok     = zone_length_q == CountBits'(6) && (zone[7:0] == "+" || zone[7:0] == "-") && both(zone[8+:16]) &&
                  zone[24+:8] == ":" && both(zone[32+:16]) && zone_hour <= 7'd23 && zone_minute <= 7'd59;
    leap = year_q[1:0] == '0 && (year_q != '0 || century_q[1:0] == '0);
    // Lengths, and days since the first of March.
    unique case (month_q)
      7'd1:    {month_days, month_begin} = {5'd31, 9'd306};
      7'd2:    {month_days, month_begin} = {leap ? 5'd29 : 5'd28, 9'd337};
      7'd3:    {month_days, month_begin} = {5'd31, 9'd0};
      7'd4:    {month_days, month_begin} = {5'd30, 9'd31};
      7'd5:    {month_days, month_begin} = {5'd31, 9'd61};
      7'd6:    {month_days, month_begin} = {5'd30, 9'd92};
      7'd7:    {month_days, month_begin} = {5'd31, 9'd122};
      7'd8:    {month_days, month_begin} = {5'd31, 9'd153};
      7'd9:    {month_days, month_begin} = {5'd30, 9'd184};
      7'd10:   {month_days, month_begin} = {5'd31, 9'd214};
      7'd11:   {month_days, month_begin} = {5'd30, 9'd245};
      7'd12:   {month_days, month_begin} = {5'd31, 9'd275};
      default: {month_days, month_begin} = '0;
    endcase
    date_ok = day_q != '0 && day_q <= 7'(month_days) && (century_q != '0 || year_q != '0);
  end
  logic signed [11:0] offset_q;
  logic [16:0] clock_seconds_q;
  logic [13:0] years_q;
  logic [8:0] in_year_q;
  logic [29:0] parts_q;
  logic coarse;
  always_comb begin
    unique case (form_q[4].unit)
      2'd0:    coarse = group_q[0] == '0 && group_q[1] == '0 && group_q[2] == '0;
      2'd1:    coarse = group_q[1] == '0 && group_q[2] == '0;
      2'd2:    coarse = group_q[2] == '0;
      default: coarse = 1'b1;
    endcase
  end
  always_ff @(posedge clk_i) begin
    offset_q <= '0;
    if (!zone_none && !zone_utc) begin
      offset_q <= zone[7:0] == "-" ? -$signed(12'(zone_hour) * 12'd60 + 12'(zone_minute)) :
                                     $signed(12'(zone_hour) * 12'd60 + 12'(zone_minute));
    end
    clock_seconds_q <= 17'(hour_q) * 17'd3600 + 17'(minute_q) * 17'd60 + 17'(second_q);
    years_q         <= 14'(century_q) * 14'd100 + 14'(year_q) - 14'(month_q <= 7'd2);
    in_year_q       <= month_begin + 9'(day_q) - 9'd1;
    parts_q         <= {group_q[0], group_q[1], group_q[2]};
    ok_q[5] <= ok_q[4] && coarse && hour_q <= 7'd23 && minute_q <= 7'd59 && second_q <= 7'd60 &&
               (form_q[4].kind == TimeOfDay ? zone_none :
                date_ok && (zone_none ? !form_q[4].zoned : (zone_utc || zone_ok)));
  end

  // Cycles 6 to 8: days, then seconds.
  logic [6:0] hundreds_q;
  logic [13:0] years_more_q;
  logic [8:0] in_year_more_q;
  logic signed [23:0] days_q[7:10];
  logic signed [18:0] clock_more_q[6:7];
  logic signed [40:0] seconds_q;
  logic [29:0] parts_more_q, small_q[7:9];
  always_ff @(posedge clk_i) begin
    // Exact for years of four digits.
    hundreds_q      <= 7'((28'(years_q) * 28'd5243) >> 19);
    years_more_q    <= years_q;
    in_year_more_q  <= in_year_q;
    clock_more_q[6] <= $signed({2'b00, clock_seconds_q}) - 19'(offset_q) * 19'sd60;
    clock_more_q[7] <= clock_more_q[6];
    parts_more_q    <= parts_q;
    // From March 1 of year 0 to 1970.
    if (form_q[6].kind == TimeOfDay) days_q[7] <= '0;
    else begin
      days_q[7] <= $signed(24'(years_more_q) * 24'd365 + 24'(years_more_q[13:2]) - 24'(hundreds_q) +
                           24'(hundreds_q[6:2]) + 24'(in_year_more_q)) - 24'sd719468;
    end
    seconds_q <= 41'(days_q[7]) * 41'sd86400 + 41'(clock_more_q[7]);
    // The fraction in units.
    unique case (form_q[6].unit)
      2'd0:    small_q[7] <= '0;
      2'd1:    small_q[7] <= 30'(parts_more_q[29:20]);
      2'd2:    small_q[7] <= 30'(parts_more_q[29:20]) * 30'd1000 + 30'(parts_more_q[19:10]);
      default: small_q[7] <= 30'(parts_more_q[29:20]) * 30'd1000000 + 30'(parts_more_q[19:10]) * 30'd1000 +
                             30'(parts_more_q[9:0]);
    endcase
    small_q[8] <= small_q[7];
    small_q[9] <= small_q[8];
    for (int unsigned i = 8; i < 11; i++) days_q[i] <= days_q[i-1];
  end

  // Cycles 9, 10: units.
  logic signed [71:0] units_q, value_q;
  always_ff @(posedge clk_i) begin
    unique case (form_q[8].unit)
      2'd0:    units_q <= 72'(seconds_q);
      2'd1:    units_q <= 72'(seconds_q) * 72'sd1000;
      2'd2:    units_q <= 72'(seconds_q) * 72'sd1000000;
      default: units_q <= 72'(seconds_q) * 72'sd1000000000;
    endcase
    value_q <= units_q + $signed({42'd0, small_q[9]});
    for (int unsigned i = 6; i < Stages; i++) ok_q[i] <= ok_q[i-1];
    // Second 60 may lead into the next day.
    if (form_q[8].kind == TimeOfDay && seconds_q >= 41'sd86400) ok_q[9] <= 1'b0;
  end

  // Cycle 11, then delay to the common latency.
  logic [64:0] found_q;
  always_ff @(posedge clk_i) begin
    found_q <= form_q[10].kind == TimeDate ? {ok_q[10], 64'(days_q[10])} :
               {ok_q[10] && value_q[71:63] == {9{value_q[63]}}, value_q[63:0]};
  end
  as_json_delay #(
      .Width (65),
      .Stages(LongLatency - Stages)
  ) i_wait (
      .clk_i,
      .advance_i(1'b1),
      .data_i   (found_q),
      .data_o   ({ok_o, value_o})
  );

endmodule

`default_nettype wire
