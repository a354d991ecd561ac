-- A login that owns nothing is enough to run on: it is granted lousa_app and lousa_system, and nothing else.
--
-- Whoever owns the schema runs the migrations and need not be seen again.  What used to need the owner while Lousa runs
-- are functions that act as the owner, check what they are given, and are lousa_system's alone.

SET LOCAL search_path = lousa, public;

-- Who opens Lousa asks which migrations there were.
GRANT SELECT ON migration TO lousa_app, lousa_system;

-- Makes the partition of one month of the ledger: of a class that there is, this month or one of the next five years.
CREATE OR REPLACE FUNCTION make_partition(class text, month timestamptz) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = lousa, pg_temp SET timezone = 'UTC' AS $$
BEGIN
    IF (class IN ('operational', 'standard', 'decision') AND month = date_trunc('month', month)
        AND month BETWEEN date_trunc('month', now()) AND now() + interval '5 years') IS NOT TRUE THEN
        RAISE EXCEPTION 'the ledger has no partition % %: a class and the first of a month, in UTC', class, month
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    EXECUTE format('CREATE TABLE IF NOT EXISTS lousa.%I PARTITION OF lousa.%I FOR VALUES FROM (%L) TO (%L)',
        format('ledger_entry_%s_%s', class, to_char(month, 'YYYYMM')), 'ledger_entry_' || class,
        lousa.lowest_id(month), lousa.lowest_id(month + interval '1 month'));
END $$;
GRANT EXECUTE ON FUNCTION make_partition TO lousa_system;

-- What only migrations call is nobody else's.
REVOKE ALL ON FUNCTION extend_ledger, guard_table FROM PUBLIC;
