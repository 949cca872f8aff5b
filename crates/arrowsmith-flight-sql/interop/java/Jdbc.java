// SPDX-License-Identifier: Apache-2.0
// The official JDBC driver: metadata, a query, a prepared statement; prints rows, the sum of ids,
// null zones.

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
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

  /** The getters without parameters that throw: the driver does where a value is missing. */
  private static List<String> failing(final DatabaseMetaData about) throws IllegalAccessException {
    final List<String> names = new ArrayList<>();
    for (final Method question : DatabaseMetaData.class.getMethods()) {
      final Class<?> answer = question.getReturnType();
      if (question.getParameterCount() == 0 && (answer.isPrimitive() || answer == String.class)) {
        try {
          question.invoke(about);
        } catch (final InvocationTargetException failed) {
          names.add(question.getName() + ": " + failed.getCause());
        }
      }
    }
    return names;
  }

  /**
   * A result without rows has its columns. Of a plain statement the driver has them twice then, as
   * it skips streams without rows.
   */
  private static void columns(final Connection connection, final String query, final String... names) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(query);
        ResultSet result = statement.executeQuery()) {
      final List<String> found = new ArrayList<>();
      for (int at = 1; at <= result.getMetaData().getColumnCount(); at++) {
        found.add(result.getMetaData().getColumnLabel(at));
      }
      same(found, List.of(names));
      same(result.next(), false);
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
      // What tools complete names with. getTypeInfo of the driver sends no request.
      same(List.of(about.getSQLKeywords().split(", *")).contains("LIMIT"), true);
      same(List.of(about.getStringFunctions().split(", *")).contains("lower"), true);
      same(List.of(about.getNumericFunctions().split(", *")).contains("abs"), true);
      same(List.of(about.getTimeDateFunctions().split(", *")).contains("date_trunc"), true);
      same(about.getSystemFunctions().isEmpty(), false);
      same(failing(about), List.of());
      same(about.supportsFullOuterJoins() && about.supportsUnionAll() && about.supportsGroupByUnrelated(), true);
      same(about.supportsResultSetType(ResultSet.TYPE_FORWARD_ONLY), true);
      same(about.supportsTransactionIsolationLevel(Connection.TRANSACTION_NONE), true);
      same(about.supportsBatchUpdates() || about.supportsStoredProcedures() || about.supportsSavepoints(), false);
      same(about.getMaxColumnsInSelect(), 0);
      columns(connection, "select id from trips where zone like 'zone\\_3' escape '\\'", "id");
      columns(connection, "select id, zone from trips where id < 0", "id", "zone");
      columns(connection, "select kind, count(*) c, tags from trips where false group by kind, tags", "kind", "c", "tags");
      try (PreparedStatement statement =
          connection.prepareStatement("select id from trips where id between ? and ? and zone = ? order by id")) {
        for (final long last : new long[] {40, 31}) {
          statement.setLong(1, 20);
          statement.setLong(2, last);
          statement.setString(3, "zone 3");
          same(column(statement.executeQuery(), "id"), last == 40 ? List.of("24", "31", "38") : List.of("24", "31"));
        }
      }
      // Values, where the driver shows keys of dictionaries; views, of which it knows no type.
      try (Statement statement = connection.createStatement()) {
        same(column(statement.executeQuery("select kind from trips where id in (3, 4) order by id"), "kind"), List.of("a", "b"));
        same(column(statement.executeQuery("select word from views order by 1"), "word"), List.of("a text that is long", "b"));
        same(column(about.getColumns(null, null, "views", null), "TYPE_NAME"), List.of("VARCHAR"));
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
