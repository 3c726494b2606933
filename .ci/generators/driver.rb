# Uses the client that openapi-generator's ruby generates, against a running service.
require "digest"
require "json"
require "securerandom"
require "tmpdir"
require "uri"
require "openapi_client"

REQUEST = ENV.fetch("REQUEST")
OpenapiClient.configure do |config|
  uri = URI(ENV.fetch("URL"))
  config.scheme, config.host = uri.scheme, "#{uri.host}:#{uri.port}"
  config.server_index = nil
  config.access_token = ENV.fetch("KEY")
end
API = OpenapiClient::RequestAttachmentsApi.new
CONTENT = "%PDF-1.7 \xff\x00".b
PDF = File.join(Dir.mktmpdir, "loa.pdf")
File.binwrite(PDF, CONTENT)
at_exit { FileUtils.rm_rf(File.dirname(PDF)) }

def equal(actual, expected)
  raise "#{actual.inspect} is not #{expected.inspect}" unless actual == expected
end

# The typed errors of a call that must fail.
def errors_of
  yield
rescue OpenapiClient::ApiError => e
  OpenapiClient::ErrorDocument.build_from_hash(JSON.parse(e.response_body, symbolize_names: true)).errors
else
  raise "The call succeeded."
end

def by_form(name)
  reference = SecureRandom.uuid
  options = { data_file_hint: OpenapiClient::FileHint::LOA, data_reference_id: reference }
  created = API.create_request_attachment(REQUEST, File.new(PDF), name, options).data
  equal([created.file_hint, created.reference_id, created.filename], ["LOA", reference, "loa.pdf"])
  equal(created.inserted_at.class, Time)
  created.id
end

def directly(name)
  announced = { filename: "loa.pdf", content_type: "application/pdf", bytes: CONTENT.bytesize,
                sha256: Digest::SHA256.hexdigest(CONTENT) }
  data = OpenapiClient::UploadCreateData.new(announced)
  prepare = OpenapiClient::UploadCreate.new(type: "upload", data: data)
  upload = API.create_request_attachment_upload(REQUEST, prepare).data
  sent = Typhoeus.put(upload.url, headers: upload.headers, body: CONTENT)
  equal(sent.code, 200)
  data = OpenapiClient::AttachmentCompleteData.new(name: name)
  body = OpenapiClient::RequestAttachmentComplete.new(type: "request_attachment", data: data)
  created = API.complete_request_attachment_upload(REQUEST, upload.id, body).data
  equal([created.id, created.file_hint], [upload.id, "DEFAULT"])
  again = errors_of { API.complete_request_attachment_upload(REQUEST, upload.id, body) }
  equal(again.map { |error| [error.sub_code, error.source.pointer] }, [["constraint.reference", "/upload_id"]])
  created.id
end

def walk
  seen, after = [], nil
  loop do
    page = API.list_request_attachments(REQUEST, { first: 2, include: "file", after: after }.compact).data
    seen += page.items
    after = page.page_info.after
    next if after

    equal(page.page_info.total, seen.size)
    return seen
  end
end

ids = [by_form("One"), by_form("Two")]
puts "form"
ids << directly("Three")
puts "direct"
listed = walk.select { |item| ids.include?(item.data.id) }
equal(listed.map { |item| [item.data.id, item.associations.file.data.sha256] },
      ids.map { |id| [id, Digest::SHA256.hexdigest(CONTENT)] })
puts "pages"
data = OpenapiClient::AttachmentUpdateData.new(name: "Countersigned", notes: nil)
update = OpenapiClient::RequestAttachmentUpdate.new(type: "request_attachment", data: data)
patched = API.update_request_attachment(REQUEST, ids[0], update).data
equal([patched.name, patched.notes, patched.file_hint], ["Countersigned", nil, "LOA"])
puts "patch"
ids.each { |id| equal(API.delete_request_attachment(REQUEST, id).data.id, id) }
missing = errors_of { API.show_request_attachment(REQUEST, ids[0]) }.first
equal([missing.code, missing.params.resource.id], ["not_found", ids[0]])
puts "errors"
