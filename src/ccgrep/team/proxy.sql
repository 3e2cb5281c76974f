-- A team's history on several servers. `ccgrep team init PLACE --shard …` runs this file as a
-- superuser, in one transaction, on a server with PL/Proxy that stores no turns itself.
-- docs/team.md describes it.
--
-- Each server behind it has schema.sql. A session is on one of them, by the hash of its id. Clients
-- call the same functions here. They run with the rights of the caller, so that PL/Proxy connects as
-- the caller: the servers check who asks. Nothing here decides what a person may see.

do $do$
begin
    if not exists (select from pg_roles where rolname = 'cc_member') then
        create role cc_member nologin;
    end if;
end $do$;

create schema if not exists cc;
grant usage on schema cc to cc_member;
create extension if not exists plproxy;
create schema if not exists plproxy;
grant usage on schema plproxy to cc_member;

create table if not exists cc.shard (
    number int primary key,
    address text not null  -- for libpq, without user and password
);
create table if not exists cc.change (number int not null);
insert into cc.change select 0 where not exists (select from cc.change);

-- PL/Proxy calls these three. A foreign server would hold the same, but whoever may use one may also
-- choose as whom to connect, with CREATE USER MAPPING.
create or replace function plproxy.get_cluster_version(cluster_name text) returns int
language sql stable security definer as 'select number from cc.change';
create or replace function plproxy.get_cluster_partitions(cluster_name text) returns setof text
language sql stable security definer as 'select address from cc.shard order by number';
create or replace function plproxy.get_cluster_config(in cluster_name text, out key text, out val text)
returns setof record language sql stable as
    $$values ('modular_mapping', '1'), ('disable_binary', '1'), ('connection_lifetime', '600')$$;

create or replace function cc.enter(q jsonb) returns jsonb language plpgsql stable as $$
declare
    address inet := inet_client_addr();
begin
    if address is not null and not address <<= '127.0.0.0/8' and address <> '::1'
        and not coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false)
    then
        raise exception 'cc: this connection is not encrypted';
    end if;
    if q #> '{filters, max_sessions}' is not null then
        raise exception 'cc: several servers cannot find the most recent sessions: leave out --max-sessions';
    end if;
    return q;
end $$;

create or replace function cc.count_shards() returns int
language sql stable security definer as 'select count(*)::int from cc.shard';

do $do$
declare
    name text;
begin
    foreach name in array array['search', 'near', 'grep', 'get', 'list', 'similar', 'stats', 'forget'] loop
        execute format('create or replace function cc.%1$s_all(q jsonb) returns setof jsonb '
            'language plproxy as ''cluster ''''cc''''; run on all; target cc.%1$s;''', name);
    end loop;
end $do$;

-- With a shard, PL/Proxy would pass it on: cc.put takes one argument.
create or replace function cc.put_on(q jsonb, shard int) returns jsonb
language plproxy as $$ cluster 'cc'; run on shard; select cc.put(q); $$;

create or replace function cc.union_of(rows jsonb[], field text) returns jsonb language sql immutable as $$
    select coalesce(jsonb_agg(distinct value), '[]')
    from unnest(rows) as row, jsonb_array_elements(row -> field) as value
$$;

-- Return the sums of lists of numbers, by position.
create or replace function cc.sum_of(rows jsonb[], field text) returns jsonb language sql immutable as $$
    select coalesce(jsonb_agg(total order by position), '[]') from (
        select position, sum(coalesce(value::bigint, 0)) as total
        from unnest(rows) as row, jsonb_array_elements_text(row -> field) with ordinality v (value, position)
        group by position) sums
$$;

-- Return the ids of sessions on all servers that begin like those of the rows.
create or replace function cc.similar_ids(q jsonb, rows jsonb[]) returns jsonb language sql stable as $$
    select coalesce(jsonb_agg(distinct id), '[]') from cc.similar_all(jsonb_build_object(
        'version', q -> 'version', 'prefixes', (
            select coalesce(jsonb_agg(distinct left(row ->> 'session', 8)), '[]')
            from unnest(rows) as row where row ? 'session'))) as id
$$;

-- Merge the first rows of what all servers answered to a search.
create or replace function cc.merge(rows jsonb[]) returns jsonb language sql immutable as $$
    select jsonb_build_object(
        'documents', sum((row ->> 'documents')::bigint), 'newest', max((row ->> 'newest')::bigint),
        'is_complete', bool_and((row ->> 'is_complete')::boolean),
        'totals', cc.sum_of(rows, 'totals'), 'counts', cc.sum_of(rows, 'counts'),
        'notes', cc.union_of(rows, 'notes'),
        'background', (
            select coalesce(jsonb_agg(jsonb_build_array(n, mean, squares - mean * mean) order by position), '[]')
            from (
                select position, sum(n) as n, sum(n * mean) / nullif(sum(n), 0) as mean,
                    sum(n * (variance + mean * mean)) / nullif(sum(n), 0) as squares
                from (
                    select position, (value ->> 0)::bigint as n, coalesce((value ->> 1)::float8, 0) as mean,
                        coalesce((value ->> 2)::float8, 0) as variance
                    from unnest(rows) as row,
                        jsonb_array_elements(row -> 'background') with ordinality v (value, position)
                ) one group by position
            ) pooled))
    from unnest(rows) as row
$$;

do $do$
declare
    name text;
begin
    foreach name in array array['search', 'near', 'grep'] loop
        execute format($sql$
            create or replace function cc.%1$s(q jsonb) returns setof jsonb language plpgsql stable as $$
            declare
                rows jsonb[] := array(select row from cc.%1$s_all(cc.enter(q)) as row);
            begin
                return next cc.merge(array(select row from unnest(rows) as row where row ? 'ids'))
                    || jsonb_build_object('ids', cc.similar_ids(q, rows));
                return query select row from unnest(rows) as row where not row ? 'ids';
            end $$ $sql$, name);
    end loop;
end $do$;

create or replace function cc.list(q jsonb) returns setof jsonb language sql stable as $$
    select row from cc.list_all(cc.enter(q)) as row
    order by (row ->> 'ended')::bigint desc nulls last, row ->> 'session'
    limit coalesce(nullif((q ->> 'limit')::int, 0), 100000)
$$;

-- The answer of the server that has the session, or the sessions of all servers that a REF could mean.
create or replace function cc.get(q jsonb) returns setof jsonb language plpgsql stable as $$
declare
    rows jsonb[] := array(select row from cc.get_all(cc.enter(q)) as row);
    found text[] := array(select distinct coalesce(row ->> 'match', row ->> 'session')
        from unnest(rows) as row where row ? 'data');
begin
    if cardinality(found) > 1 and q ->> 'session' = any (found) then
        found := array[q ->> 'session'];
    elsif cardinality(found) > 1 and q ? 'turn' then
        found := found[1:1];
    end if;
    return query select case when cardinality(found) > 1
        then jsonb_build_object('match', coalesce(row ->> 'match', row ->> 'session'), 'data', row -> 'data')
        else row end
    from unnest(rows) with ordinality as r (row, position)
    where coalesce(row ->> 'match', row ->> 'session') = any (found)
        and (cardinality(found) = 1 or row ? 'data')
    order by position;
end $$;

create or replace function cc.stats(q jsonb) returns setof jsonb language plpgsql stable as $$
declare
    rows jsonb[] := array(select row from cc.stats_all(cc.enter(q)) as row);
    name text;
    merged jsonb := (select jsonb_build_object('sessions', sum((row ->> 'sessions')::bigint),
        'turns', sum((row ->> 'turns')::bigint), 'copies', sum((row ->> 'copies')::bigint),
        'first', min((row ->> 'first')::bigint), 'last', max((row ->> 'last')::bigint))
        from unnest(rows) as row);
begin
    foreach name in array array['people', 'sources', 'projects', 'days', 'tools'] loop
        merged := merged || jsonb_build_object(name, (
            select coalesce(jsonb_agg(jsonb_build_object('name', one, 'sessions', sessions, 'turns', turns)
                order by turns desc, one), '[]')
            from (select value ->> 'name' as one, sum((value ->> 'sessions')::bigint) as sessions,
                    sum((value ->> 'turns')::bigint) as turns
                from unnest(rows) as row, jsonb_array_elements(row -> name) as value group by 1) groups));
    end loop;
    return next merged;
end $$;

-- Each server stores its part in a transaction of its own. A push that fails between them is
-- repeated by the client, and changes nothing where it succeeded.
create or replace function cc.put(q jsonb) returns jsonb language plpgsql as $$
declare
    shards constant int := cc.count_shards();
    is_empty constant boolean := jsonb_array_length(cc.enter(q) -> 'sessions') = 0;
    part jsonb;
    rows jsonb[] := '{}';
begin
    for i in 0 .. shards - 1 loop
        select coalesce(jsonb_agg(one), '[]') into part from jsonb_array_elements(q -> 'sessions') as one
        where abs(hashtext(one ->> 'session') % shards) = i;
        if is_empty or part <> '[]' then
            rows := rows || cc.put_on(q || jsonb_build_object('sessions', part), i);
        end if;
    end loop;
    return jsonb_build_object('written', (select sum((row ->> 'written')::int) from unnest(rows) as row),
        'refused', cc.union_of(rows, 'refused'),
        'has_passages', (select bool_and((row ->> 'has_passages')::boolean) from unnest(rows) as row));
end $$;

-- All servers record the tombstones. Sub-agents may be on other servers than the session, so that
-- this goes on until no server finds another one.
create or replace function cc.forget(q jsonb) returns jsonb language plpgsql as $$
declare
    names jsonb := cc.enter(q) -> 'sessions';
    gone jsonb := '[]';
    found jsonb;
begin
    loop
        found := cc.union_of(array(
            select row from cc.forget_all(q || jsonb_build_object('sessions', names)) as row), 'sessions');
        gone := cc.union_of(array[jsonb_build_object('s', gone), jsonb_build_object('s', found)], 's');
        exit when names @> found;
        names := cc.union_of(array[jsonb_build_object('s', names), jsonb_build_object('s', found)], 's');
    end loop;
    return jsonb_build_object('sessions', gone);
end $$;

do $do$
declare
    name regprocedure;
begin
    for name in select oid from pg_proc where pronamespace = 'cc'::regnamespace
        or oid in (select oid from pg_proc where pronamespace = 'plproxy'::regnamespace)
    loop
        execute format('revoke all on function %s from public', name);
        execute format('grant execute on function %s to cc_member', name);
        if (select lanname <> 'plproxy' from pg_proc p join pg_language l on l.oid = prolang where p.oid = name) then
            execute format('alter function %s set search_path = pg_catalog, cc, pg_temp', name);
        end if;
    end loop;
end $do$;
