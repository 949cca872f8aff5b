// SPDX-License-Identifier: Apache-2.0
// The official JDBC driver: metadata, a query, a prepared statement; prints rows, the sum of ids,
// null zones.

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

public final class Jdbc {
  private Jdbc() {}

  private static List<String> column(final ResultSet result, final String name) throws SQLException {
    final List<String> values = new ArrayList<>();
    try (result) {
      while (result.next()) {
        values.add(result.getString(name));
      }
    }
    return values;
  }

  private static void same(final Object found, final Object expected) {
    if (!expected.equals(found)) {
      throw new AssertionError(found + " is not " + expected);
    }
  }

  public static void main(final String[] arguments) throws Exception {
    final Properties properties = new Properties();
    properties.put("useEncryption", "false");
    final String url = "jdbc:arrow-flight-sql://" + arguments[0];
    try (Connection connection = DriverManager.getConnection(url, properties)) {
      final DatabaseMetaData about = connection.getMetaData();
      same(about.getDatabaseProductName(), "Arrowsmith");
      same(about.isReadOnly(), true);
      same(column(about.getCatalogs(), "TABLE_CAT"), List.of("arrowsmith"));
      same(column(about.getTableTypes(), "TABLE_TYPE"), List.of("TABLE"));
      same(column(about.getTables(null, null, "tr%", null), "TABLE_NAME"), List.of("trips"));
      same(column(about.getColumns(null, null, "trips", null), "COLUMN_NAME"), List.of("id", "fare", "zone", "kind", "tags"));
      same(column(about.getPrimaryKeys(null, null, "trips"), "COLUMN_NAME"), List.of());
      same(column(about.getExportedKeys(null, null, "trips"), "FKCOLUMN_NAME"), List.of());
      try (PreparedStatement statement =
          connection.prepareStatement("select id from trips where id between ? and ? and zone = ? order by id")) {
        for (final long last : new long[] {40, 31}) {
          statement.setLong(1, 20);
          statement.setLong(2, last);
          statement.setString(3, "zone 3");
          same(column(statement.executeQuery(), "id"), last == 40 ? List.of("24", "31", "38") : List.of("24", "31"));
        }
      }
      try (Statement statement = connection.createStatement()) {
        statement.executeQuery("select nothing from trips");
        throw new AssertionError("a column that is not there was found");
      } catch (final SQLException expected) {
        System.out.println("refused");
      }
      try (Statement statement = connection.createStatement();
          ResultSet result = statement.executeQuery("select id, zone from trips")) {
        long rows = 0;
        long sum = 0;
        long nulls = 0;
        while (result.next()) {
          rows++;
          sum += result.getLong(1);
          nulls += result.getString(2) == null ? 1 : 0;
        }
        System.out.println(rows + " " + sum + " " + nulls);
      }
    }
  }
}
